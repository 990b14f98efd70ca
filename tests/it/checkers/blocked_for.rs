//! What is BLOCKED for longer than it may is given up, and nothing else is.

use std::collections::BTreeMap;

use mainspring::engine::Event;
use mainspring::model::{Instant, State, TaskRunId};

use super::{Checker, Step};

/// Since when each is BLOCKED without a break; another cause is no break.
#[derive(Default)]
pub struct BlockedFor(BTreeMap<TaskRunId, Instant>);

impl Checker for BlockedFor {
    fn name(&self) -> &'static str {
        "blocked_for"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let timeout = |at: mainspring::engine::TaskRunRef| step.task(at).policy.block_timeout_ms;
        let ends: BTreeMap<_, _> = step.decision.moves.iter().map(|to| (to.id, to)).collect();
        for (id, to) in ends {
            if to.to.state == State::Blocked {
                self.0.entry(id).or_insert(step.now);
                continue;
            }
            let since = self.0.remove(&id);
            if to.to.code.as_deref() == Some("BLOCK_TIMEOUT") && to.to.state == State::Failed {
                let waited = since.map(|since| step.now.millis_since(since));
                if timeout(to.at).is_none_or(|least| waited.is_none_or(|ms| ms < least)) {
                    return Err(format!("given up after {waited:?} ms: {to:?}"));
                }
            }
        }
        if !matches!(step.event, Event::Tick) {
            return Ok(());
        }
        for run in step.world.runs() {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let at = mainspring::engine::TaskRunRef { run: run.row.id, index };
                let Some(since) = self.0.get(&task_run.id) else { continue };
                let waited = step.now.millis_since(*since);
                if timeout(at).is_some_and(|most| waited >= most) {
                    return Err(format!("BLOCKED for {waited} ms: {:?}", task_run.progress));
                }
            }
        }
        Ok(())
    }
}
