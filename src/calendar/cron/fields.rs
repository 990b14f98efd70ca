//! The fields of an expression: their names, their ranges, and the words they accept.

use super::{FIRST_YEAR, LAST_YEAR};

/// One of the seven fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Second,
    Minute,
    Hour,
    MonthDay,
    Month,
    /// Unix: 0 and 7 are Sunday.
    UnixWeekDay,
    /// Quartz: 1 is Sunday and 7 is Saturday.
    QuartzWeekDay,
    Year,
}

pub(super) const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
pub(super) const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// What the field is called in messages.
    pub(super) fn name(self) -> &'static str {
        let one = self.one();
        one.split_once(' ').map_or(one, |(_, name)| name)
    }

    /// The same with its article.
    pub(super) fn one(self) -> &'static str {
        match self {
            Field::Second => "a second",
            Field::Minute => "a minute",
            Field::Hour => "an hour",
            Field::MonthDay => "a day of month",
            Field::Month => "a month",
            Field::UnixWeekDay | Field::QuartzWeekDay => "a day of week",
            Field::Year => "a year",
        }
    }

    /// Smallest number.
    pub(super) fn low(self) -> u32 {
        match self {
            Field::Second | Field::Minute | Field::Hour | Field::UnixWeekDay => 0,
            Field::MonthDay | Field::Month | Field::QuartzWeekDay => 1,
            Field::Year => FIRST_YEAR as u32,
        }
    }

    /// Largest number (of the values that differ: a Unix 7 is a 0).
    pub(super) fn high(self) -> u32 {
        match self {
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::MonthDay => 31,
            Field::Month => 12,
            Field::UnixWeekDay => 6,
            Field::QuartzWeekDay => 7,
            Field::Year => LAST_YEAR as u32,
        }
    }

    /// Largest number that may be written.
    pub(super) fn written_high(self) -> u32 {
        if self == Field::UnixWeekDay { 7 } else { self.high() }
    }

    /// Largest step.
    pub(super) fn largest_step(self) -> u32 {
        self.written_high()
    }

    /// The number that a name in capitals stands for.
    pub(super) fn named(self, text: &str) -> Option<u32> {
        let (names, first): (&[&str], u32) = match self {
            Field::Month => (&MONTHS, 1),
            Field::UnixWeekDay => (&WEEKDAYS, 0),
            Field::QuartzWeekDay => (&WEEKDAYS, 1),
            _ => return None,
        };
        names.iter().zip(first..).find(|(name, _)| **name == text).map(|(_, n)| n)
    }
}

/// A set of small numbers with every value from `low` to `high`.
pub(super) const fn all(low: u32, high: u32) -> u64 {
    (u64::MAX >> (63 - high)) & (u64::MAX << low)
}
