//! Who goes first: 0 to 9, 0 first, and within one priority first in, first out.

/// The priority of whoever names none: NORMAL.
pub const DEFAULT: u8 = 5;

/// The last one.
pub const LOWEST: u8 = 9;

/// The priorities with names.
pub const NAMES: [(&str, u8); 5] =
    [("URGENT", 0), ("HIGH", 2), ("NORMAL", DEFAULT), ("LOW", 7), ("IDLE", LOWEST)];

/// The place in a pool's queue; the least goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// 0 to 9.
    pub priority: u8,
    /// When it first became READY; kept over retries, preemptions and gates that closed again.
    pub first_ready: i64,
    /// Breaks ties, so that the order never depends on how candidates were found.
    pub id: i64,
}

/// A number from 0 to 9, or one of the [`NAMES`] in any letter case.
#[must_use]
pub fn parse(text: &str) -> Option<u8> {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    match (named, text.as_bytes()) {
        (Some((_, priority)), _) => Some(*priority),
        (None, [digit @ b'0'..=b'9']) => Some(digit - b'0'),
        _ => None,
    }
}

/// The name of a priority that has one.
#[must_use]
pub fn name(priority: u8) -> Option<&'static str> {
    NAMES.iter().find(|(_, number)| *number == priority).map(|(name, _)| *name)
}

/// The priority after a wait: one class up for every full `step_ms`, never above 0. A step of 0
/// or less switches ageing off, which is the default: strict order may starve, and says so.
#[must_use]
pub fn aged(priority: u8, waited_ms: i64, step_ms: i64) -> u8 {
    if step_ms <= 0 || waited_ms <= 0 {
        return priority;
    }
    let classes = u8::try_from(waited_ms / step_ms).unwrap_or(u8::MAX);
    priority.saturating_sub(classes)
}
