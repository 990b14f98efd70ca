//! Errors and losses stay within their budgets.

use super::{Checker, Step};

pub struct Budget;

impl Checker for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.moves {
            let policy = &step.task(to.at).policy;
            let attempts = if policy.idempotent { policy.attempts_for(false) } else { 1 };
            let p = &to.to;
            if p.errors_used > attempts || p.losses_used > policy.max_losses + 1 {
                return Err(format!("{attempts} attempts are allowed: {p:?}"));
            }
        }
        for start in &step.decision.starts {
            let at = start.at;
            let policy = &step.task(at).policy;
            let p = &step.world.task_run(at).unwrap().progress;
            if !policy.idempotent && p.attempt_no > p.rerun_base + 1 {
                return Err(format!("started again without being asked: {p:?}"));
            }
        }
        Ok(())
    }
}
