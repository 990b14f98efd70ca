//! A date of the calendar, without a zone: days since 1970-01-01.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;

use super::Problem;
use super::json::printable;

/// A calendar date, such as a business date; ISO text outside.
///
/// Kept as a day number because most of what happens to it is comparing and adding days. The
/// Gregorian calendar is used throughout, also where history had another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(pub i32);

/// Days from 0000-03-01 to 1970-01-01: years that begin in March put the leap day last, so that
/// the length of every earlier month is fixed.
const EPOCH: i64 = 719_468;
/// Days in 400 years; the calendar repeats after them.
const CYCLE: i64 = 146_097;

impl Date {
    /// The first date of the years that text can name (0001 to 9999).
    pub const MIN: Date = Date(-719_162);
    /// The last date of the years that text can name.
    pub const MAX: Date = Date(2_932_896);

    /// The date with this year (1 to 9999), month and day; `None` if there is no such day.
    pub const fn from_ymd(year: i32, month: u32, day: u32) -> Option<Date> {
        if year < 1 || year > 9999 || month < 1 || month > 12 {
            return None;
        }
        if day < 1 || day > Date::days_in_month(year, month) {
            return None;
        }
        Some(Date(day_number(year, month, day)))
    }

    /// Year, month (1 to 12) and day (1 to 31).
    pub const fn ymd(self) -> (i32, u32, u32) {
        let days = self.0 as i64 + EPOCH;
        let cycle = days.div_euclid(CYCLE);
        // Small unsigned numbers from here on: this is asked for each step of every schedule.
        let day = days.rem_euclid(CYCLE) as u32;
        // Leap days of the cycle that lie before `day` are taken out before dividing by 365.
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        // March-based months have 30.6 days on average from each fifth on.
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let civil = if month < 10 { month + 3 } else { month - 9 };
        let year = year as i64 + cycle * 400 + (civil <= 2) as i64;
        (year as i32, civil, of_month)
    }

    /// The date that ISO text such as `2024-02-29` names.
    ///
    /// # Errors
    /// `bad_date` for any other form, and for days that do not exist.
    pub fn parse(text: &str) -> Result<Date, Problem> {
        let refuse = || {
            let shown: String = printable(text).chars().take(40).collect();
            Problem::new("bad_date", "", format!("`{shown}` is not a date"))
                .hint("dates are written yyyy-mm-dd, such as 2024-02-29")
        };
        let b = text.as_bytes();
        if b.len() != 10 || b[4] != b'-' || b[7] != b'-' {
            return Err(refuse());
        }
        let number = |range: std::ops::Range<usize>| {
            b[range]
                .iter()
                .try_fold(0u32, |n, c| c.is_ascii_digit().then(|| n * 10 + u32::from(c - b'0')))
        };
        match (number(0..4), number(5..7), number(8..10)) {
            (Some(year), Some(month), Some(day)) => {
                Date::from_ymd(year as i32, month, day).ok_or_else(refuse)
            }
            _ => Err(refuse()),
        }
    }

    /// Day of the week, Monday = 0 to Sunday = 6.
    pub const fn weekday(self) -> u32 {
        // 1970-01-01 was a Thursday.
        (self.0 as i64 + 3).rem_euclid(7) as u32
    }

    /// Days in this month (1 to 12) of this year.
    pub const fn days_in_month(year: i32, month: u32) -> u32 {
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Later by this many days (earlier if negative); stops at the ends of the range.
    #[must_use]
    pub const fn plus_days(self, days: i32) -> Date {
        Date(self.0.saturating_add(days))
    }
}

/// Day number of a date known to exist.
const fn day_number(year: i32, month: u32, day: u32) -> i32 {
    let year = year as i64 - (month <= 2) as i64;
    let cycle = year.div_euclid(400);
    let of_cycle = year.rem_euclid(400);
    let march = (month as i64 + 9) % 12;
    let of_year = (153 * march + 2) / 5 + day as i64 - 1;
    let days = of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year;
    (cycle * CYCLE + days - EPOCH) as i32
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Date {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Date, Problem> {
        Date::parse(text)
    }
}

impl serde::Serialize for Date {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Date {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Date::parse(&text).map_err(|problem| D::Error::custom(problem.message))
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        let mut expected = Date::MIN.0;
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(date) = Date::from_ymd(year, month, day) {
                        assert_eq!(date.0, expected);
                        assert_eq!(date.ymd(), (year, month, day));
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected - 1, Date::MAX.0);
    }

    #[test]
    fn text_goes_both_ways() {
        let date = Date::parse("2024-02-29").unwrap();
        assert_eq!(date, Date(19_782));
        assert_eq!(date.to_string(), "2024-02-29");
        assert_eq!(serde_json::to_string(&date).unwrap(), "\"2024-02-29\"");
        assert_eq!(serde_json::from_str::<Date>("\"2024-02-29\"").unwrap(), date);
    }

    #[test]
    fn refuses_days_that_do_not_exist() {
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "0000-01-01",
            "2024-2-29",
            "２０24-01",
            "",
            "2024-02-29 ",
        ] {
            assert_eq!(Date::parse(text).unwrap_err().code, "bad_date", "{text}");
        }
    }

    #[test]
    fn weekdays_count_from_monday() {
        assert_eq!(Date::parse("2024-01-01").unwrap().weekday(), 0);
        assert_eq!(Date::parse("1969-12-28").unwrap().weekday(), 6);
    }
}
