//! The two day fields, boiled down to one table of bit sets.
//!
//! Which days of a month match depends on two things only: how long the month is (28 to 31 days)
//! and on which weekday it begins. So everything that `L`, `W`, `#` and the either-or rule can say
//! is worked out once, for 28 shapes of month, and the search never looks at a term again.

use std::collections::BTreeSet;

use super::fields::all;

/// A term of the day-of-month field that is not a plain number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum MonthDay {
    /// `L`, `L-n`: the last day minus n.
    Last(u32),
    /// `LW`, `L-nW`: Monday to Friday nearest to that day.
    LastWork(u32),
    /// `nW`: Monday to Friday nearest to day n, inside the month.
    NearWork(u32),
}

/// A term of the weekday field that is not a plain weekday; Sunday is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum WeekDay {
    /// `n#k`: the k-th of the month.
    Nth(u32, u32),
    /// `nL`: the last of the month.
    Last(u32),
}

/// The day-of-month field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct MonthDays {
    /// Bit n is day n.
    pub plain: u32,
    pub terms: BTreeSet<MonthDay>,
    /// The text begins with `*` or is `?`: cron's sign for "both day fields must match".
    pub starred: bool,
}

/// The weekday field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct WeekDays {
    /// Bit 0 is Sunday.
    pub plain: u32,
    pub terms: BTreeSet<WeekDay>,
    /// See [`MonthDays::starred`].
    pub starred: bool,
}

/// Matching days by (length of month - 28) and weekday of the first (Sunday 0); bit n is day n.
pub(super) type DayTable = [[u32; 7]; 4];

/// Works out which days match in each shape of month.
pub(super) fn table(month_days: &MonthDays, week_days: &WeekDays, either: bool) -> DayTable {
    let mut table = DayTable::default();
    for (row, length) in table.iter_mut().zip(28..) {
        for (days, first) in row.iter_mut().zip(0..) {
            let month = Shape { length, first };
            let by_month = month_days.days(month);
            let by_week = week_days.days(month);
            *days = if either { by_month | by_week } else { by_month & by_week };
        }
    }
    table
}

/// How long a month is and on which weekday it begins (Sunday 0).
#[derive(Clone, Copy)]
struct Shape {
    length: u32,
    first: u32,
}

impl Shape {
    fn weekday(self, day: u32) -> u32 {
        (self.first + day - 1) % 7
    }

    /// Monday to Friday nearest to `day`, without leaving the month; 0 if there is no such day.
    fn nearest_workday(self, day: u32) -> u32 {
        if day < 1 || day > self.length {
            return 0;
        }
        match self.weekday(day) {
            6 if day > 1 => day - 1,
            6 => day + 2,
            0 if day < self.length => day + 1,
            0 => day - 2,
            _ => day,
        }
    }
}

impl MonthDays {
    fn days(&self, month: Shape) -> u32 {
        let mut days = self.plain & all(1, month.length) as u32;
        for term in &self.terms {
            let day = match *term {
                MonthDay::Last(n) => month.length.saturating_sub(n),
                MonthDay::LastWork(n) => month.nearest_workday(month.length.saturating_sub(n)),
                MonthDay::NearWork(n) => month.nearest_workday(n),
            };
            if day >= 1 {
                days |= 1 << day;
            }
        }
        days
    }
}

impl WeekDays {
    fn days(&self, month: Shape) -> u32 {
        // One week turned so that it begins with the first of the month, five times in a row.
        let plain = u64::from(self.plain);
        let week = (plain >> month.first | plain << (7 - month.first)) & 0x7f;
        let weeks = week | week << 7 | week << 14 | week << 21 | week << 28;
        let mut days = (weeks << 1 & all(1, month.length)) as u32;
        for term in &self.terms {
            for day in 1..=month.length {
                let hit = match *term {
                    WeekDay::Nth(weekday, k) => {
                        month.weekday(day) == weekday && day.div_ceil(7) == k
                    }
                    WeekDay::Last(weekday) => {
                        month.weekday(day) == weekday && day + 7 > month.length
                    }
                };
                days |= u32::from(hit) << day;
            }
        }
        days
    }
}
