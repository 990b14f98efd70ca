//! What a clock on the wall shows: a date and a time of day, without a zone.

use std::fmt;

use crate::model::{Date, Problem};

/// Seconds in a day of the wall clock (which knows no daylight saving).
pub(crate) const DAY: i64 = 86_400;

/// A reading of the wall clock, as seconds since the wall clock showed 1970-01-01T00:00:00.
///
/// Two instants may show the same wall time and some wall times are never shown; only a
/// [`Zone`](super::Zone) can tell.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Wall(pub i64);

impl Wall {
    /// This date at midnight, plus seconds.
    pub const fn new(date: Date, second_of_day: i64) -> Wall {
        Wall(date.0 as i64 * DAY + second_of_day)
    }

    /// The date shown.
    pub const fn date(self) -> Date {
        Date(self.0.div_euclid(DAY) as i32)
    }

    /// Seconds since midnight, 0 to 86,399.
    pub const fn second_of_day(self) -> i64 {
        self.0.rem_euclid(DAY)
    }

    /// Hour, minute and second.
    pub const fn hms(self) -> (i64, i64, i64) {
        let s = self.second_of_day();
        (s / 3600, s / 60 % 60, s % 60)
    }

    /// The reading that text such as `2024-03-10T02:30:00` names.
    ///
    /// # Errors
    /// `bad_date` for any other form.
    pub fn parse(text: &str) -> Result<Wall, Problem> {
        let refuse = || {
            let shown: String = text.chars().take(40).collect();
            Problem::new("bad_date", "", format!("`{shown}` is not a date and time"))
                .hint("local times are written yyyy-mm-ddThh:mm:ss, such as 2024-02-29T02:00:00")
        };
        let (date, time) = text.split_once(['T', ' ']).ok_or_else(refuse)?;
        let date = Date::parse(date)?;
        let b = time.as_bytes();
        if b.len() != 8 || b[2] != b':' || b[5] != b':' {
            return Err(refuse());
        }
        let two = |i: usize| match (b[i], b[i + 1]) {
            (a @ b'0'..=b'9', b @ b'0'..=b'9') => {
                Some(i64::from(a - b'0') * 10 + i64::from(b - b'0'))
            }
            _ => None,
        };
        match (two(0), two(3), two(6)) {
            (Some(h @ 0..=23), Some(m @ 0..=59), Some(s @ 0..=59)) => {
                Ok(Wall::new(date, h * 3600 + m * 60 + s))
            }
            _ => Err(refuse()),
        }
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (h, m, s) = self.hms();
        write!(f, "{}T{h:02}:{m:02}:{s:02}", self.date())
    }
}
