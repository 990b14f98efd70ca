//! A clock that stands until it is moved, for worlds that are simulated.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::prelude::*;

use crate::model::Instant;
use crate::runtime::Clock;

/// The hand and the face of a clock that stands; sessions share it.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct ManualClock {
    pub(super) clock: Clock,
    pub(super) hand: Arc<AtomicI64>,
}

#[pymethods]
impl ManualClock {
    /// Microseconds since 1970, UTC.
    #[new]
    fn new(now: i64) -> Self {
        let (clock, hand) = Clock::test(Instant(now));
        ManualClock { clock, hand }
    }

    /// What it shows.
    #[getter]
    fn now(&self) -> i64 {
        self.hand.load(Ordering::SeqCst)
    }

    /// Sets it, back or forward, while nobody works by it.
    fn set(&self, now: i64) {
        self.hand.store(now, Ordering::SeqCst);
    }
}
