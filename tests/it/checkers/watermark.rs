//! U3: a watermark only grows, and moves with the rows that cover what it passes over.

use std::collections::BTreeMap;

use mainspring::model::{Instant, ScheduleId};

use super::{Checker, Step};

#[derive(Default)]
pub struct Watermark(BTreeMap<ScheduleId, Instant>);

impl Checker for Watermark {
    fn name(&self) -> &'static str {
        "watermark"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.schedules {
            let life = &step.truth.lives[&to.schedule];
            let before = self.0.insert(to.schedule, to.watermark).unwrap_or(life.spans[0].from);
            if to.from != before || to.watermark < before {
                return Err(format!("from {before} to {to:?}"));
            }
            for (at, _) in life.fires(before, to.watermark) {
                if !life.fired.contains(&at) && life.skipped(at) == 0 {
                    return Err(format!("{at} is passed over by {to:?}"));
                }
            }
        }
        Ok(())
    }
}
