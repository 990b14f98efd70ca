//! Missed fires: which of those that fell due while nobody was there are still run.

use crate::model::{Instant, Missed, SkipReason};

/// A fire that is seen at most so late was not missed: whoever was to see it was busy.
pub const LATE_MS: i64 = 60_000;

/// Whether a fire that fell due at `due` and is seen at `now` was missed.
#[must_use]
pub fn is_missed(due: Instant, now: Instant) -> bool {
    now.millis_since(due) > LATE_MS
}

/// Why a fire of an outage makes no run; none where it makes one.
///
/// `newest` says whether it is the last one that has fallen due.
#[must_use]
pub fn verdict(
    policy: Missed,
    window_ms: i64,
    (at, due): (Instant, Instant),
    newest: bool,
    now: Instant,
) -> Option<SkipReason> {
    if is_missed(due, now) && now.millis_since(at) > window_ms {
        return Some(SkipReason::Expired);
    }
    match policy {
        Missed::All => None,
        Missed::Last => (!newest).then_some(SkipReason::Missed),
        Missed::None => is_missed(due, now).then_some(SkipReason::Missed),
    }
}
