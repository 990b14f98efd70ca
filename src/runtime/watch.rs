//! How those who wait for a run learn how it goes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::{BackfillState, RunState, State};

/// How a run stands after the last commit.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its state.
    pub state: RunState,
    /// Task runs by state, in the order of `State::ALL`.
    pub counts: Vec<u32>,
    /// Names of tasks that are running, at most eight.
    pub running: Vec<String>,
    /// Names of gates that wait for a person's word, at most eight.
    pub awaited: Vec<String>,
    /// Why nothing can be committed at the moment, if that is so.
    pub stalled: Option<String>,
    /// Why this process can do no more for the run, if that is so.
    pub lost: Option<String>,
}

impl Status {
    /// How many task runs are in this state.
    pub fn count(&self, state: State) -> u32 {
        let at = State::ALL.iter().position(|other| *other == state);
        at.and_then(|at| self.counts.get(at)).copied().unwrap_or(0)
    }

    fn is_over(&self) -> bool {
        self.state != RunState::Running || self.lost.is_some()
    }
}

/// One run being watched.
pub struct RunWatch {
    status: Mutex<Status>,
    changed: Condvar,
}

impl RunWatch {
    pub(super) fn new() -> Self {
        let status = Status {
            state: RunState::Running,
            counts: vec![0; State::ALL.len()],
            running: Vec::new(),
            awaited: Vec::new(),
            stalled: None,
            lost: None,
        };
        RunWatch { status: Mutex::new(status), changed: Condvar::new() }
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        self.lock().clone()
    }

    /// Waits until it cannot move any more, at most so long; whether that is so.
    pub fn wait(&self, at_most: Duration) -> bool {
        let status = self.lock();
        let waited = self.changed.wait_timeout_while(status, at_most, |status| !status.is_over());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Status)) {
        let mut status = self.lock();
        change(&mut status);
        if status.is_over() {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a backfill stands after the last commit.
#[derive(Clone, Debug)]
pub struct BackfillStatus {
    /// Its state.
    pub state: BackfillState,
    /// Why this process can do no more for it, if that is so.
    pub lost: Option<String>,
}

impl BackfillStatus {
    fn is_over(&self) -> bool {
        self.state.is_final() || self.lost.is_some()
    }
}

/// One backfill being watched.
pub struct BackfillWatch {
    status: Mutex<BackfillStatus>,
    changed: Condvar,
}

impl BackfillWatch {
    pub(super) fn new() -> Self {
        let status = BackfillStatus { state: BackfillState::Running, lost: None };
        BackfillWatch { status: Mutex::new(status), changed: Condvar::new() }
    }

    /// How it stands.
    pub fn status(&self) -> BackfillStatus {
        self.lock().clone()
    }

    /// Waits until it does not move by itself any more, at most so long; whether that is so.
    pub fn wait(&self, at_most: Duration) -> bool {
        let status = self.lock();
        let waited = self.changed.wait_timeout_while(status, at_most, |status| !status.is_over());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut BackfillStatus)) {
        let mut status = self.lock();
        change(&mut status);
        if status.is_over() {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BackfillStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
