//! U5: a fire up to an edit follows the old text, one after it the new; nothing else fires.

use super::{Checker, Step};

pub struct Edited;

impl Checker for Edited {
    fn name(&self) -> &'static str {
        "edited"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for create in &step.decision.creates {
            for schedule in &create.schedules {
                let life = &step.truth.lives[schedule];
                if life.fire_at(create.row.nominal_at).is_none() {
                    return Err(format!("{} is no fire: {life:?}", create.row.nominal_at));
                }
            }
        }
        Ok(())
    }
}
