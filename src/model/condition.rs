//! What else a task waits for besides its upstreams, and days on which it need not run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::CalendarDef;

/// A time of day before which a task run does not start, on the nominal date or some days later.
///
/// Only runs that make themselves wait for it: those of schedules, missed ones, and those that
/// upstreams trigger. Whoever asks for a run has chosen the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotBefore {
    /// Days after the nominal date.
    pub days: u16,
    /// Second of the day by the wall clock of the run's zone.
    pub second: u32,
}

/// The most days later that make sense: what waits longer belongs to another schedule.
pub const MOST_DAYS_LATER: u16 = 366;

impl fmt::Display for NotBefore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days > 0 {
            write!(f, "+{}d ", self.days)?;
        }
        write!(f, "{:02}:{:02}", self.second / 3_600, self.second / 60 % 60)?;
        match self.second % 60 {
            0 => Ok(()),
            second => write!(f, ":{second:02}"),
        }
    }
}

impl FromStr for NotBefore {
    type Err = String;

    /// Reads `06:30`, `06:30:15` or `+1d 06:30`.
    fn from_str(text: &str) -> Result<NotBefore, String> {
        let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
        let refused = || format!("`{shown}` is not a time of day");
        let trimmed = text.trim();
        let (days, time) = match trimmed.strip_prefix('+') {
            None => (0, trimmed),
            Some(rest) => {
                let (days, time) = rest.split_once('d').ok_or_else(refused)?;
                let days = digits(days, 1..=3).ok_or_else(refused)?;
                let days = u16::try_from(days).ok().filter(|days| *days <= MOST_DAYS_LATER);
                let days = days.ok_or_else(|| {
                    format!("`{shown}` is more than {MOST_DAYS_LATER} days after the nominal date")
                })?;
                (days, time.trim_start())
            }
        };
        let parts: Vec<&str> = time.split(':').collect();
        let (hour, minute, second) = match parts[..] {
            [hour, minute] => (hour, minute, "00"),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(refused()),
        };
        let read = |part: &str, most: u32| digits(part, 2..=2).filter(|number| *number <= most);
        match (read(hour, 23), read(minute, 59), read(second, 59)) {
            (Some(h), Some(m), Some(s)) => Ok(NotBefore { days, second: h * 3_600 + m * 60 + s }),
            _ => Err(refused()),
        }
    }
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let fits = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

impl Serialize for NotBefore {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NotBefore {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The days on which a task runs; on others its task run is SKIPPED when the run is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOn {
    /// Which days.
    #[serde(flatten)]
    pub days: RunDays,
    /// Whether the business date is looked at instead of the nominal local date and time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub biz_date: bool,
}

/// How the days are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunDays {
    /// By a rule, as text; the calendar reads it.
    Rule(String),
    /// By the open days of a calendar.
    Calendar(CalendarDef),
}

impl fmt::Display for RunDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunDays::Rule(text) => f.write_str(text),
            RunDays::Calendar(calendar) => write!(f, "calendar {}", calendar.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_read_and_written_back() {
        for (text, days, second) in [
            ("06:30", 0, 23_400),
            ("00:00", 0, 0),
            ("23:59:59", 0, 86_399),
            ("+1d 06:30", 1, 23_400),
            ("+366d 00:00:01", 366, 1),
        ] {
            let read: NotBefore = text.parse().unwrap();
            assert_eq!(read, NotBefore { days, second });
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("+2d06:30".parse(), Ok(NotBefore { days: 2, second: 23_400 }));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "6:30",
            "06:60",
            "24:00",
            "0630",
            "06:30:",
            "06:30:60",
            "-1d 06:30",
            "1d 06:30",
            "+d 06:30",
            "+367d 06:30",
            "+1d",
            "06:3０",
            "06:30 UTC",
            "+9999999999d 06:30",
        ] {
            assert!(text.parse::<NotBefore>().is_err(), "{text}");
        }
    }
}
