//! What was canceled ends CANCELED, whatever is reported later, and starts only if it is rerun.

use std::collections::BTreeSet;

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::State;

use super::{Checker, Step};

#[derive(Clone, Default)]
pub struct Canceled(pub BTreeSet<TaskRunRef>);

impl Checker for Canceled {
    fn name(&self) -> &'static str {
        "canceled"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        // A mapped task that is run again runs its items again when its list is known.
        let rerun = matches!(step.event, Event::Rerun { .. } | Event::Expand { .. });
        for to in &step.decision.moves {
            if to.from == State::Canceled && rerun {
                self.0.remove(&to.at);
            } else if self.0.contains(&to.at) && to.to.state != State::Canceled {
                return Err(format!("was canceled, and then {to:?}"));
            }
        }
        if let Event::Cancel { run, only, .. } = step.event {
            let found_run = step.world.run(*run).unwrap();
            let all = found_run.task_runs();
            let found = *step.decision != Default::default();
            if only.is_none() && found && !step.world.run(*run).unwrap().cancel_requested {
                return Err("the run does not know that it was canceled".into());
            }
            for (task_run, index) in all.iter().zip(0..) {
                let whole = found_run.planned(index);
                let named = |only: &Vec<u32>| only.contains(&index) || only.contains(&whole);
                let meant = only.as_ref().is_none_or(named);
                // What stands for items may fail with one that had failed before.
                if found_run.items(index).is_some_and(|items| !items.is_empty()) {
                    continue;
                }
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
