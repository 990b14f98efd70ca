//! One attempt of a task run holds slots at a time, also after its end while its thread runs;
//! until that is gone the next one is not even in the queue.

use std::collections::BTreeMap;

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::State;

use super::{Checker, Step};

/// Attempt that holds the lease, and whether it has ended.
#[derive(Default)]
pub struct Single(BTreeMap<TaskRunRef, (u32, bool)>);

impl Checker for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for start in &step.decision.starts {
            let held = self.0.insert(start.at, (start.attempt.attempt_no, false));
            if let Some(held) = held {
                return Err(format!("{:?} starts beside {held:?}", start.attempt));
            }
        }
        for end in &step.decision.ends {
            let no = end.end.attempt_no;
            match self.0.get_mut(&end.at) {
                Some(held) if *held == (no, false) => held.1 = true,
                held => return Err(format!("{no} ended, but {held:?} is live")),
            }
            if end.released {
                self.0.remove(&end.at);
            }
        }
        for to in step.decision.moves.iter().filter(|to| to.to.state == State::Ready) {
            let released = step.decision.releases.contains(&to.at);
            if to.from != State::Running && self.0.contains_key(&to.at) && !released {
                return Err(format!("its thread still runs: {to:?}"));
            }
        }
        for at in &step.decision.releases {
            let told = match step.event {
                Event::AttemptReleased { .. } | Event::NotReady { .. } | Event::NodeLost { .. } => {
                    true
                }
                Event::AttemptEnded(report) => report.released,
                _ => false,
            };
            if self.0.remove(at).is_none_or(|held| !held.1) || !told {
                return Err(format!("{at:?} released without reason"));
            }
        }
        Ok(())
    }
}
