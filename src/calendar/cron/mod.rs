//! Cron expressions: one language, its dialect chosen by the number of fields.
//!
//! | fields | dialect |
//! | --- | --- |
//! | 5 | Unix crontab: minute hour day month weekday; 0 and 7 are Sunday |
//! | 6 | Quartz: second first; 1 is Sunday and 7 is Saturday |
//! | 7 | Quartz with a year last |
//! | `@word` | `@hourly @daily @midnight @weekly @monthly @yearly @annually` |
//!
//! A [`Cron`] knows wall-clock times only. What they mean in a zone is for [`super::fires`].

mod canonical;
mod days;
mod fields;
mod items;
mod parse;
mod search;

pub use parse::MAX_LENGTH;

use crate::model::{Date, SpecError};
use days::DayTable;

/// First year of any schedule.
pub const FIRST_YEAR: i32 = 1970;
/// Last year of any schedule.
pub const LAST_YEAR: i32 = 2199;

/// Which of the two languages an expression is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Five fields; two restricted day fields mean "either".
    Unix,
    /// Six or seven fields; only one day field may restrict.
    Quartz,
}

/// A parsed expression: bit sets of what matches.
#[derive(Clone, Debug)]
pub struct Cron {
    source: String,
    dialect: Dialect,
    times: Times,
    dates: Dates,
}

/// Times of day: one bit for each value that matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Times {
    seconds: u64,
    minutes: u64,
    hours: u32,
}

/// Dates that match.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Dates {
    /// Bit 1 is January.
    months: u32,
    /// Bit 0 of the first word is 1970.
    years: Years,
    /// Days of the month, for each shape a month can have.
    table: DayTable,
    /// What the two day fields said, for the canonical form.
    month_days: days::MonthDays,
    week_days: days::WeekDays,
    /// Unix: a date matches when either day field does.
    either: bool,
}

/// A set of years from 1970 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Years([u64; 4]);

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// Every problem that was found, each with the field, what is wrong and what was probably
    /// meant: `field_count`, `syntax`, `out_of_range`, `bad_step`, `bad_macro`,
    /// `dom_dow_conflict`, `never` and `too_long`.
    pub fn parse(text: &str) -> Result<Cron, SpecError> {
        parse::parse(text)
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The dialect that the number of fields chose.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether the hours are all 24, however written: such a schedule follows elapsed time and
    /// not the wall clock.
    pub fn every_hour(&self) -> bool {
        self.times.hours == fields::all(0, 23) as u32
    }

    /// Whether it matches at most one time of each day.
    pub fn once_a_day(&self) -> bool {
        let Times { seconds, minutes, hours } = self.times;
        seconds.count_ones() == 1 && minutes.count_ones() == 1 && hours.count_ones() == 1
    }

    /// Whether both match the same times of day.
    pub(crate) fn same_time_of_day(&self, other: &Cron) -> bool {
        self.times == other.times
    }

    /// Whether it fires on most weekdays but not on all, such as Monday to Friday.
    pub(crate) fn leaves_out_weekdays(&self) -> bool {
        let days = &self.dates.week_days;
        days.terms.is_empty() && !self.dates.either && (3..7).contains(&days.plain.count_ones())
    }

    /// Whether any time of this date matches.
    pub fn matches_date(&self, date: Date) -> bool {
        self.ceil_date(date) == Some(date)
    }

    /// Whether there is a date on which both match.
    pub fn shares_a_date_with(&self, other: &Cron) -> bool {
        let mut date = self.first_date();
        while let Some(mine) = date {
            match other.ceil_date(mine) {
                None => return false,
                Some(theirs) if theirs == mine => return true,
                Some(theirs) => date = self.ceil_date(theirs),
            }
        }
        false
    }

    /// Whether both match exactly the same wall-clock times, however they are written.
    pub fn same_times(&self, other: &Cron) -> bool {
        let (mine, theirs) = (&self.dates, &other.dates);
        self.times == other.times
            && mine.months == theirs.months
            && mine.years == theirs.years
            && mine.table == theirs.table
    }
}
