//! A point in time, the same everywhere: integer microseconds since 1970-01-01T00:00:00Z.

use std::fmt;
use std::ops::{Add, Sub};

use super::Date;

/// An instant as the store keeps it.
///
/// A plain number and not a type of a time crate: the kernel compares and adds instants, and only
/// the calendar floor knows about zones.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Instant(pub i64);

impl Instant {
    /// Microseconds in a second.
    pub const SECOND: i64 = 1_000_000;

    /// The instant this many whole seconds after the epoch; far values stop at the ends.
    pub const fn from_secs(secs: i64) -> Self {
        Instant(secs.saturating_mul(Self::SECOND))
    }

    /// Whole seconds since the epoch, rounded down (so before the epoch too).
    pub const fn floor_secs(self) -> i64 {
        self.0.div_euclid(Self::SECOND)
    }

    /// Whole seconds since the epoch, rounded up.
    pub const fn ceil_secs(self) -> i64 {
        self.floor_secs() + (self.0.rem_euclid(Self::SECOND) != 0) as i64
    }

    /// Later by this many milliseconds (earlier if negative); stops at the ends of the range.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Instant(self.0.saturating_add(millis.saturating_mul(1_000)))
    }

    /// Whole milliseconds from `earlier` to this instant; never negative.
    pub const fn millis_since(self, earlier: Instant) -> i64 {
        let micros = self.0.saturating_sub(earlier.0);
        if micros < 0 { 0 } else { micros / 1_000 }
    }

    /// Later by this many microseconds (earlier if negative); stops at the ends of the range.
    pub const fn plus_micros(self, micros: i64) -> Self {
        Instant(self.0.saturating_add(micros))
    }
}

impl Add<i64> for Instant {
    type Output = Instant;

    fn add(self, micros: i64) -> Instant {
        self.plus_micros(micros)
    }
}

impl Sub for Instant {
    type Output = i64;

    /// Microseconds from `earlier` to `self`.
    fn sub(self, earlier: Instant) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// ISO 8601 in UTC; fractions only where there are any.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.floor_secs();
        let day = secs.div_euclid(86_400);
        let rest = secs.rem_euclid(86_400);
        // Days of any i64 microseconds fit in 32 bits: 2^63 / 86.4e9 is about 1.07e8.
        let date = Date(day as i32);
        write!(f, "{date}T{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)?;
        let micros = self.0.rem_euclid(Self::SECOND);
        if micros != 0 {
            write!(f, ".{micros:06}")?;
        }
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::Instant;

    #[test]
    fn prints_in_utc_on_both_sides_of_the_epoch() {
        assert_eq!(Instant(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Instant(-1).to_string(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(Instant::from_secs(1_709_164_800).to_string(), "2024-02-29T00:00:00Z");
    }

    #[test]
    fn rounds_towards_the_side_it_says() {
        assert_eq!((Instant(-1).floor_secs(), Instant(-1).ceil_secs()), (-1, 0));
        assert_eq!((Instant(1).floor_secs(), Instant(1).ceil_secs()), (0, 1));
        assert_eq!((Instant(0).floor_secs(), Instant(0).ceil_secs()), (0, 0));
    }
}
