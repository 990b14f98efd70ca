//! What the driver keeps of probes that live: where their output goes, and what was committed of
//! their rest, which no row remembers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Driver;
use crate::engine::{Decision, Rest, TaskRunRef};
use crate::model::AttemptStart;
use crate::runtime::logs::LogSink;

/// One live probe.
struct Known {
    attempt_no: u32,
    /// One log for all its checks.
    log: Arc<LogSink>,
    rest: Option<Rest>,
    polls: u32,
}

/// The probes that live here.
#[derive(Default)]
pub struct Resting(BTreeMap<TaskRunRef, Known>);

impl Resting {
    /// The log of an attempt, made at its first check here.
    pub(super) fn log(
        &mut self,
        at: TaskRunRef,
        attempt: &AttemptStart,
        made: impl FnOnce() -> LogSink,
    ) -> Arc<LogSink> {
        let attempt_no = attempt.attempt_no;
        if let Some(known) = self.0.get(&at).filter(|known| known.attempt_no == attempt_no) {
            return Arc::clone(&known.log);
        }
        let log = Arc::new(made());
        let known = Known { attempt_no, log: Arc::clone(&log), rest: None, polls: 0 };
        self.0.insert(at, known);
        log
    }

    /// Where the output of an attempt is that ended while it rested, and how it ends.
    pub(super) fn last_words(
        &self,
        at: TaskRunRef,
        attempt_no: u32,
    ) -> Option<(Option<String>, Option<String>)> {
        let known = self.0.get(&at).filter(|known| known.attempt_no == attempt_no)?;
        Some(known.log.finish())
    }

    /// Remembers what is durable now.
    pub(super) fn stand(&mut self, decision: &Decision) {
        for to in &decision.rests {
            if let Some(known) = self.0.get_mut(&to.at) {
                (known.rest, known.polls) = (to.rest, to.polls);
            }
        }
        for end in &decision.ends {
            self.0.remove(&end.at);
        }
    }

    /// Nothing of it is ours any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Driver {
    /// A world that was read anew learns what no row says: whose check is being called, and when
    /// the others are asked again.
    pub(super) fn recall_rests(&mut self) {
        for (at, known) in &self.resting.0 {
            self.world.recall(*at, known.attempt_no, known.rest, known.polls);
        }
    }
}
