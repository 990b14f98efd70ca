//! U10: what fell into a pause makes no run, unless it was asked for when the pause ended.

use mainspring::model::PeriodKind;

use super::{Checker, Step};

pub struct Pauses;

impl Checker for Pauses {
    fn name(&self) -> &'static str {
        "pauses"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for create in &step.decision.creates {
            for schedule in &create.schedules {
                let (life, at) = (&step.truth.lives[schedule], create.row.nominal_at);
                let paused = life.fire_at(at).is_some_and(|span| span.kind == PeriodKind::Paused);
                if paused && !life.kept.contains(&at) {
                    return Err(format!("{at} fell into a pause: {life:?}"));
                }
            }
        }
        Ok(())
    }
}
