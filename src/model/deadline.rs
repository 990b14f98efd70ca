//! Until when a task run is to be finished: the form that is written, and the one that is kept.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::words::words;
use super::{Problem, duration};

/// The latest finish of a task run, reckoned from the nominal time of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Deadline {
    /// So long after the nominal time.
    After {
        /// Milliseconds.
        after_ms: i64,
    },
    /// A time of day in the zone of the run.
    At {
        /// Days after the nominal date.
        days: u32,
        /// Seconds since midnight.
        second: u32,
    },
}

words! {
    /// What is done about a task run that is open at its deadline.
    #[derive(Default)]
    pub enum OnDeadline {
        /// It is recorded and told, and the task run goes on.
        #[default]
        Alert = "alert", 0;
        /// And the task run is canceled.
        Cancel = "cancel", 1;
    }
}

impl OnDeadline {
    /// Whether it is what is done unless something else is said.
    pub fn is_default(&self) -> bool {
        *self == OnDeadline::default()
    }
}

/// The most days after the nominal date.
const MOST_DAYS: u32 = 3_650;
const HOW: &str = "write a duration after the nominal time such as \"2h\", or a time such as \"07:30\", \
     or \"+1d 07:30\" for the day after the nominal date";

impl Deadline {
    /// `2h` after the nominal time; `07:30` or `07:30:15` on the nominal date, `+1d 07:30` on the
    /// day after it.
    ///
    /// # Errors
    /// `bad_deadline`, or what [`duration::parse`] says of a duration.
    pub fn parse(text: &str) -> Result<Deadline, Problem> {
        let trimmed = text.trim();
        if !trimmed.contains(':') && !trimmed.starts_with('+') {
            return duration::parse(trimmed).map(|after_ms| Deadline::After { after_ms });
        }
        let refused = || {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            let message = format!("`{shown}` is not a deadline");
            Problem::new("bad_deadline", "", message).hint(HOW)
        };
        let (days, time) = match trimmed.strip_prefix('+') {
            None => (0, trimmed),
            Some(rest) => {
                let (days, time) = rest.split_once("d ").ok_or_else(refused)?;
                let days = number(days, MOST_DAYS).ok_or_else(refused)?;
                (days, time.trim())
            }
        };
        let second = second_of_day(time).ok_or_else(refused)?;
        Ok(Deadline::At { days, second })
    }
}

/// `07:30` or `07:30:15`.
fn second_of_day(text: &str) -> Option<u32> {
    let mut parts = text.split(':');
    let two = |part: Option<&str>, most| {
        part.filter(|part| part.len() == 2).and_then(|part| number(part, most))
    };
    let (hour, minute) = (two(parts.next(), 23)?, two(parts.next(), 59)?);
    let second = match parts.next() {
        None => 0,
        second => two(second, 59)?,
    };
    parts.next().is_none().then_some(hour * 3_600 + minute * 60 + second)
}

fn number(text: &str, most: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Deadline::After { after_ms } => write!(f, "{after_ms}ms"),
            Deadline::At { days, second } => {
                if days > 0 {
                    write!(f, "+{days}d ")?;
                }
                write!(f, "{:02}:{:02}", second / 3_600, second / 60 % 60)?;
                if second % 60 > 0 { write!(f, ":{:02}", second % 60) } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_and_what_is_meant() {
        let after = |after_ms| Ok(Deadline::After { after_ms });
        let at = |days, second| Ok(Deadline::At { days, second });
        let parse = |text| Deadline::parse(text).map_err(|problem| problem.code);
        assert_eq!(parse("2h"), after(7_200_000));
        assert_eq!(parse("PT30M"), after(1_800_000));
        assert_eq!(parse("07:30"), at(0, 27_000));
        assert_eq!(parse(" 07:30:15 "), at(0, 27_015));
        assert_eq!(parse("+1d 00:00"), at(1, 0));
        assert_eq!(parse("+12d 23:59"), at(12, 86_340));
        for wrong in ["7:30", "24:00", "07:60", "07:30:60", "07:30:15:00", "+1d", "+d 07:30", ":"] {
            assert_eq!(parse(wrong), Err("bad_deadline"), "{wrong}");
        }
        assert_eq!(parse("+1w 07:30"), Err("bad_deadline"));
        assert_eq!(parse("-1d 07:30"), Err("bad_deadline"));
        assert_eq!(parse("7"), Err("duration_needs_unit"));
        for text in ["07:30", "07:30:15", "+1d 00:00"] {
            assert_eq!(Deadline::parse(text).unwrap().to_string(), text);
        }
    }
}
