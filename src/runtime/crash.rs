//! Named points at which a process can be made to die, in builds with debug assertions only: tests
//! let one die there and see what the next one makes of it.

#[cfg(debug_assertions)]
use std::sync::Mutex;

/// The point and how often it is still passed before the process dies there.
#[cfg(debug_assertions)]
static ARMED: Mutex<Option<(String, u32)>> = Mutex::new(None);

/// Every point there is.
pub const POINTS: [&str; 22] = [
    // The driver: a transaction, an attempt handed out, a stop handed on.
    "commit.before",
    "commit.after",
    "start.before",
    "start.after",
    "stop.before",
    "stop.after",
    // The pool of worker processes: a supervisor started, a worker given an attempt, a tree asked to
    // end, the driver told of an end.
    "spawn.before",
    "spawn.after",
    "give.before",
    "give.after",
    "kill.before",
    "kill.after",
    "outcome.before",
    "outcome.after",
    // A supervisor: its worker started, its tree signalled, the scheduler told that it is gone.
    "worker.before",
    "worker.after",
    "term.before",
    "term.after",
    "sigkill.before",
    "sigkill.after",
    "dead.before",
    "dead.after",
];

/// Has the process die when it comes to a point for the `nth` time, 1 for the first.
#[cfg(debug_assertions)]
pub fn arm(point: &str, nth: u32) {
    if let Ok(mut armed) = ARMED.lock() {
        *armed = Some((point.to_owned(), nth));
    }
}

/// The process comes to a point.
#[cfg(debug_assertions)]
pub(super) fn at(point: &str) {
    let Ok(mut armed) = ARMED.lock() else { return };
    if let Some((name, left)) = armed.as_mut().filter(|(name, _)| name == point) {
        debug_assert!(POINTS.contains(&name.as_str()));
        *left -= 1;
        if *left == 0 {
            // As a kill does: nothing is flushed, closed or told.
            std::process::abort();
        }
    }
}

/// The process comes to a point.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn at(_point: &str) {}
