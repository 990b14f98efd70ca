//! What was canceled ends CANCELED, whatever is reported later, and starts only if it is rerun.

use std::collections::BTreeSet;

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::State;

use super::{Checker, Step};

#[derive(Default)]
pub struct Canceled(BTreeSet<TaskRunRef>);

impl Checker for Canceled {
    fn name(&self) -> &'static str {
        "canceled"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let rerun = matches!(step.event, Event::Rerun { .. });
        for to in &step.decision.moves {
            if to.from == State::Canceled && rerun {
                self.0.remove(&to.at);
            } else if self.0.contains(&to.at) && to.to.state != State::Canceled {
                return Err(format!("was canceled, and then {to:?}"));
            }
        }
        if let Event::Cancel { run, only, .. } = step.event {
            let all = step.world.run(*run).unwrap().task_runs();
            let found = *step.decision != Default::default();
            if only.is_none() && found && !step.world.run(*run).unwrap().cancel_requested {
                return Err("the run does not know that it was canceled".into());
            }
            for (task_run, index) in all.iter().zip(0..) {
                let meant = only.as_ref().is_none_or(|only| only.contains(&index));
                match task_run.progress.state {
                    State::Running | State::Canceled if meant => {
                        self.0.insert(TaskRunRef { run: *run, index });
                    }
                    state if meant && !state.is_final() => return Err(format!("still {state}")),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
