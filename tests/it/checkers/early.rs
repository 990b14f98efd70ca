//! U4: nothing is made, left out or passed over before its time has come.

use mainspring::model::Instant;

use super::{Checker, Step};

/// The latest time there was: clocks go back.
#[derive(Default)]
pub struct Early(Instant);

impl Checker for Early {
    fn name(&self) -> &'static str {
        "early"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.0 = self.0.max(step.now);
        for create in &step.decision.creates {
            if create.row.nominal_at > step.now {
                return Err(format!("{} is made early: {:?}", step.now, create.row));
            }
        }
        for to in &step.decision.schedules {
            let mut reached = to.skips.iter().map(|(skip, _)| skip.to).chain([to.watermark]);
            if reached.any(|at| at > self.0) {
                return Err(format!("{}: {to:?}", step.now));
            }
        }
        Ok(())
    }
}
