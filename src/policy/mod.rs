//! How: when a failed attempt is tried again, who goes first, who fits.
//!
//! Pure functions of numbers: nothing here knows a task, a clock or a store, so that the
//! scheduler, `explain` and a dry run get one answer. Instants are microseconds, durations
//! milliseconds, both signed as the store keeps them.

pub mod jitter;
mod missed;
pub mod priority;
pub mod retry;
mod share;
pub mod slots;

pub use jitter::splitmix64;
pub use missed::{LATE_MS, is_missed, verdict};
pub use share::bucket;
