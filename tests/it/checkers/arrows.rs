//! Task runs take only arrows of the table, each from where the last one ended.

use std::collections::BTreeMap;

use mainspring::model::{ARROWS, State, TaskRunId};

use super::{Checker, Step};

#[derive(Default)]
pub struct Arrows(BTreeMap<TaskRunId, State>);

impl Checker for Arrows {
    fn name(&self) -> &'static str {
        "arrows"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.moves {
            let from = self.0.insert(to.id, to.to.state).unwrap_or(State::Pending);
            let known = ARROWS.iter().any(|arrow| (arrow.0, arrow.1) == (to.from, to.to.state));
            if from != to.from || !known {
                return Err(format!("{from} -> {to:?}"));
            }
        }
        Ok(())
    }
}
