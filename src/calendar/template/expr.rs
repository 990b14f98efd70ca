//! What a placeholder means: something looked up, or a point in time, moved and formatted.

use super::pattern::Pattern;
use crate::calendar::dates;
use crate::calendar::wall::Wall;
use crate::calendar::zone::Zone;
use crate::model::{Date, Instant, Problem};

/// What a placeholder stands for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expr {
    Outside(Outside),
    Time(Time),
}

/// Something that the caller has to supply.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outside {
    /// `${params.x}`, a parameter of the run.
    Param(String),
    /// `${result.task}`, the result of an upstream task.
    Result(String),
    /// `${secret:NAME}`; masked wherever the rendered text is kept.
    Secret(String),
    /// One of the further names that the caller listed.
    Name(String),
}

/// The times of one run, from which everything is computed.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The instant of the fire.
    pub at: Instant,
    /// The wall time that was meant; the clock shows another after a gap.
    pub nominal: Wall,
    /// The day the data belongs to.
    pub biz_date: Date,
    /// Where the data interval begins.
    pub interval_start: Option<Instant>,
    /// Where the data interval ends; none where that is `at`, as it is for a fire.
    pub interval_end: Option<Instant>,
    /// The zone of the schedule.
    pub zone: Zone,
}

/// A point in time, moved and formatted.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Time {
    pub base: Base,
    pub moves: Vec<Move>,
    pub form: Form,
}

/// Where the computation starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// The nominal wall time.
    Nominal,
    /// The business date at midnight.
    BizDate,
    IntervalStart,
    IntervalEnd,
}

/// One step of date arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// Elapsed time, which only instants have.
    Seconds(i64),
    /// Days of the calendar, the time of day kept.
    Days(i64),
    Months(i32),
    MonthStart,
    MonthEnd,
    WeekStart,
    WeekEnd,
    QuarterStart,
    QuarterEnd,
    YearStart,
    YearEnd,
}

/// How the point in time is written.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Form {
    Pattern(Pattern),
    /// Year and number of the ISO week, with a dash or without.
    YearWeek {
        dash: bool,
    },
}

impl Base {
    /// Whether elapsed hours can be added: dates have none.
    pub(super) fn is_instant(self) -> bool {
        self != Base::BizDate
    }
}

impl Time {
    pub(super) fn text(&self, moment: &Moment) -> Result<String, Problem> {
        let zone = &moment.zone;
        let (mut wall, mut at) = match self.base {
            Base::Nominal => (moment.nominal, Some(moment.at)),
            Base::BizDate => (Wall::new(moment.biz_date, 0), None),
            Base::IntervalEnd => {
                let end = moment.interval_end.unwrap_or(moment.at);
                (zone.wall(end), Some(end))
            }
            Base::IntervalStart => {
                let start = moment.interval_start.ok_or_else(|| {
                    Problem::new("no_interval", "", "the run has no data interval")
                        .hint("nothing fired before it; use another name for a first run")
                })?;
                (zone.wall(start), Some(start))
            }
        };
        for step in &self.moves {
            match *step {
                // A nominal time has an instant until a date step leaves it behind.
                Move::Seconds(n) => {
                    let from = at.unwrap_or_else(|| zone.first_instant(wall));
                    let to = from.plus_micros(n.saturating_mul(Instant::SECOND));
                    (wall, at) = (zone.wall(to), Some(to));
                }
                Move::Days(0) | Move::Months(0) => {}
                step => {
                    let date = moved(wall.date(), step).ok_or_else(outside_years)?;
                    (wall, at) = (Wall::new(date, wall.second_of_day()), None);
                }
            }
        }
        if !(Date::MIN..=Date::MAX).contains(&wall.date()) {
            return Err(outside_years());
        }
        Ok(match &self.form {
            Form::Pattern(pattern) => {
                let at = at.unwrap_or_else(|| zone.first_instant(wall));
                pattern.format(wall, zone.offset(at))
            }
            Form::YearWeek { dash } => {
                let (year, week) = dates::iso_week(wall.date());
                if *dash { format!("{year:04}-{week:02}") } else { format!("{year:04}{week:02}") }
            }
        })
    }
}

fn moved(date: Date, step: Move) -> Option<Date> {
    Some(match step {
        Move::Seconds(_) => date,
        Move::Days(n) => dates::add_days(date, n)?,
        Move::Months(n) => dates::add_months(date, n)?,
        Move::MonthStart => dates::month_start(date),
        Move::MonthEnd => dates::month_end(date),
        Move::WeekStart => dates::week_start(date),
        Move::WeekEnd => dates::week_end(date),
        Move::QuarterStart => dates::quarter_start(date),
        Move::QuarterEnd => dates::quarter_end(date),
        Move::YearStart => dates::year_start(date),
        Move::YearEnd => dates::year_end(date),
    })
}

fn outside_years() -> Problem {
    Problem::new("out_of_range", "", "the date is outside the years 1 to 9999")
}
