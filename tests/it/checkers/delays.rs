//! The next attempt does not start before the delay is over, whatever happens meanwhile.

use std::collections::BTreeMap;

use mainspring::model::{Instant, State, TaskRunId};

use super::{Checker, Step};

#[derive(Default)]
pub struct Delays(BTreeMap<TaskRunId, Instant>);

impl Checker for Delays {
    fn name(&self) -> &'static str {
        "delays"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.moves {
            let before = self.0.get(&to.id).copied();
            match to.to.state {
                State::RetryWait => {
                    let wake_at = to.to.wake_at.filter(|wake_at| *wake_at >= step.now);
                    self.0.insert(to.id, wake_at.ok_or("waits for nothing")?);
                }
                State::Running if before.is_some_and(|before| before > step.now) => {
                    return Err(format!("{before:?} is not over: {to:?}"));
                }
                state if state.is_final() || to.to.rerun_base == to.to.attempt_no => {
                    self.0.remove(&to.id);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
