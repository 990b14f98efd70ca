//! Attempts are numbered 1, 2, ... without a gap, across reruns and crashes; tokens grow.

use std::collections::BTreeMap;

use mainspring::model::{TaskRunId, Token};

use super::{Checker, Step};

#[derive(Default)]
pub struct AttemptNumbers(BTreeMap<TaskRunId, (u32, Token)>);

impl Checker for AttemptNumbers {
    fn name(&self) -> &'static str {
        "attempt_numbers"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for start in &step.decision.starts {
            let attempt = &start.attempt;
            let last = self.0.entry(attempt.task_run_id).or_insert((0, Token(0)));
            if attempt.attempt_no != last.0 + 1 || attempt.token <= last.1 {
                return Err(format!("{last:?} is followed by {attempt:?}"));
            }
            *last = (attempt.attempt_no, attempt.token);
        }
        Ok(())
    }
}
