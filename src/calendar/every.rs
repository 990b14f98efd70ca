//! Interval schedules: `6h` is elapsed time, `1d` is a step of the calendar.

use std::fmt;

use super::dates;
use super::fires::{ClockChange, Fire, of_wall};
use super::wall::{DAY, Wall};
use super::zone::Zone;
use crate::model::{Date, Instant, Problem};

/// Longest step of elapsed time: a century. Steps of the calendar end at as many days or months.
const LONGEST: i64 = 100 * 366 * DAY;

/// After every fire of every zone: some days into the year 2200.
const END: Instant = Instant::from_secs(7_258_204_800 + 7 * DAY);

/// The step of an interval schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Elapsed seconds.
    Seconds(i64),
    /// Days of the calendar.
    Days(i32),
    /// Months of the calendar.
    Months(i32),
}

/// Fires at the anchor and every step after it.
///
/// Steps of the calendar are counted from the anchor and not from the last fire, so that a month's
/// end does not wear off (31 January, 29 February, 31 March) and a gap does not shift later days.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Every {
    step: Step,
    anchor: Instant,
    wall: Wall,
    zone: Zone,
    clock: ClockChange,
}

impl Step {
    /// Reads `90m`, `6h`, `30s` (elapsed) and `1d`, `2w`, `1M`, `1y` (calendar).
    ///
    /// # Errors
    /// `bad_step` for 0 and for steps beyond a century, `syntax` for everything else.
    pub fn parse(text: &str) -> Result<Step, Problem> {
        let shown: String = text.chars().take(30).collect();
        let refuse = || {
            Problem::new("syntax", "every", format!("`{shown}` is not an interval")).hint(
                "a whole number and a unit: 30s, 90m, 6h (elapsed time) or 1d, 2w, 1M, 1y \
                 (calendar; capital M for months)",
            )
        };
        let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let (count, unit) = text.split_at(split);
        if count.is_empty() {
            return Err(refuse());
        }
        let size = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => DAY,
            "w" => 7 * DAY,
            "M" => 30 * DAY,
            "y" => 365 * DAY,
            _ => return Err(refuse()),
        };
        let n = count.parse::<i64>().ok().filter(|n| *n > 0 && *n <= LONGEST / size);
        let Some(n) = n else {
            return Err(Problem::new("bad_step", "every", format!("`{shown}` is no usable step"))
                .hint("from 1s to 100 years"));
        };
        Ok(match unit {
            "d" => Step::Days(n as i32),
            "w" => Step::Days(n as i32 * 7),
            "M" => Step::Months(n as i32),
            "y" => Step::Months(n as i32 * 12),
            _ => Step::Seconds(n * size),
        })
    }
}

impl Every {
    /// A step from an anchor; fractions of a second of the anchor are dropped.
    pub fn new(step: Step, anchor: Instant, zone: Zone, clock: ClockChange) -> Every {
        let anchor = Instant::from_secs(anchor.floor_secs());
        Every { step, anchor, wall: zone.wall(anchor), zone, clock }
    }

    /// The step.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The first fire.
    pub fn anchor(&self) -> Instant {
        self.anchor
    }

    /// The zone whose calendar is stepped through.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether it can never fire twice on one local date.
    pub(crate) fn once_a_day(&self) -> bool {
        match self.step {
            // A day of 25 hours has room for two fires that are 24 hours apart.
            Step::Seconds(step) => step >= DAY + self.zone.largest_fold(),
            Step::Days(_) | Step::Months(_) => true,
        }
    }

    /// The first fire strictly after an instant.
    pub(crate) fn next(&self, after: Instant) -> Option<Fire> {
        let mut k = self.guess(after).saturating_sub(2).max(0);
        loop {
            let fires = self.tick(k)?;
            if let Some(fire) = fires.into_iter().flatten().find(|fire| fire.at > after) {
                return Some(fire);
            }
            k += 1;
        }
    }

    /// The last fire strictly before an instant.
    pub(crate) fn prev(&self, before: Instant) -> Option<Fire> {
        self.prev_from(before, 0)
    }

    /// The tick before a fire, also the one that the anchor would have had before it: the data
    /// interval of the first fire is as long as any other.
    pub(crate) fn interval_start(&self, fire: Instant) -> Option<Fire> {
        self.prev_from(fire, -3)
    }

    fn prev_from(&self, before: Instant, first: i64) -> Option<Fire> {
        // Beyond the last year there are no ticks, and from a far instant too many steps back.
        let mut k = self.guess(before.min(END)).saturating_add(2);
        while k >= first {
            let fires = self.tick(k).unwrap_or([None, None]);
            if let Some(fire) = fires.into_iter().flatten().rev().find(|fire| fire.at < before) {
                return Some(fire);
            }
            k -= 1;
        }
        None
    }

    /// About how many steps lie between the anchor and an instant.
    fn guess(&self, at: Instant) -> i64 {
        match self.step {
            Step::Seconds(step) => (at - self.anchor).div_euclid(step * Instant::SECOND),
            Step::Days(step) => {
                let wall = self.zone.wall(at);
                (wall.0 - self.wall.0).div_euclid(i64::from(step) * DAY)
            }
            Step::Months(step) => {
                let (wall, anchor) = (self.zone.wall(at), self.wall);
                let (year, month, _) = wall.date().ymd();
                let (year0, month0, _) = anchor.date().ymd();
                let months = i64::from(year - year0) * 12 + i64::from(month) - i64::from(month0);
                months.div_euclid(i64::from(step))
            }
        }
    }

    /// The fires of step number k; nothing beyond the last year of schedules.
    fn tick(&self, k: i64) -> Option<[Option<Fire>; 2]> {
        let wall = match self.step {
            Step::Seconds(step) => {
                let micros = k.checked_mul(step)?.checked_mul(Instant::SECOND)?;
                let at = Instant(self.anchor.0.checked_add(micros)?);
                let nominal = self.zone.wall(at);
                return in_range(nominal.date()).then_some([Some(Fire { at, nominal }), None]);
            }
            Step::Days(step) => {
                Wall(self.wall.0.checked_add(k.checked_mul(i64::from(step))?.checked_mul(DAY)?)?)
            }
            Step::Months(step) => {
                let months = i32::try_from(k.checked_mul(i64::from(step))?).ok()?;
                let date = dates::add_months(self.wall.date(), months)?;
                Wall::new(date, self.wall.second_of_day())
            }
        };
        in_range(wall.date()).then(|| of_wall(&self.zone, self.clock, wall))
    }
}

fn in_range(date: Date) -> bool {
    date >= Date::MIN && date.ymd().0 <= super::cron::LAST_YEAR
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Step::Seconds(n) if n % 3600 == 0 => write!(f, "{}h", n / 3600),
            Step::Seconds(n) if n % 60 == 0 => write!(f, "{}m", n / 60),
            Step::Seconds(n) => write!(f, "{n}s"),
            Step::Days(n) if n % 7 == 0 => write!(f, "{}w", n / 7),
            Step::Days(n) => write!(f, "{n}d"),
            Step::Months(n) if n % 12 == 0 => write!(f, "{}y", n / 12),
            Step::Months(n) => write!(f, "{n}M"),
        }
    }
}
