//! The clock: the one place that reads the machine's.
#![allow(clippy::disallowed_methods, reason = "this is the place where clocks are read")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant as Monotonic, SystemTime};

use crate::model::Instant;

/// Wall time that never runs backwards within a process: the wall clock as it was when the
/// process began, plus elapsed time. Tests make one that stands until it is moved.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    Machine { began: Instant, since: Monotonic },
    Test(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub fn machine() -> Self {
        let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        };
        Clock(Source::Machine { began: Instant(micros), since: Monotonic::now() })
    }

    /// A clock that stands still at `now`, with the handle that moves it.
    pub fn test(now: Instant) -> (Self, Arc<AtomicI64>) {
        let hand = Arc::new(AtomicI64::new(now.0));
        (Clock(Source::Test(Arc::clone(&hand))), hand)
    }

    /// Whether it stands until somebody moves it.
    pub fn stands(&self) -> bool {
        matches!(self.0, Source::Test(_))
    }

    /// Now.
    pub fn now(&self) -> Instant {
        match &self.0 {
            Source::Machine { began, since } => {
                let elapsed = i64::try_from(since.elapsed().as_micros()).unwrap_or(i64::MAX);
                Instant(began.0.saturating_add(elapsed))
            }
            Source::Test(hand) => Instant(hand.load(Ordering::SeqCst)),
        }
    }
}

/// Time since it was started, by a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Monotonic);

impl Stopwatch {
    /// One that starts now.
    pub fn start() -> Self {
        Stopwatch(Monotonic::now())
    }

    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// What is left of this time.
    pub fn left_of(&self, whole: Duration) -> Duration {
        whole.saturating_sub(self.elapsed())
    }
}
