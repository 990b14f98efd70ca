//! In a run that makes itself, nothing starts before its time of day: reckoned here from the
//! seconds of the zone that the run names, and not by the calendar.

use std::collections::BTreeSet;

use mainspring::engine::TaskRunRef;
use mainspring::model::{Instant, Trigger};

use super::{Checker, Step};

/// Task runs that somebody has run again: that is a word of its own.
#[derive(Default)]
pub struct NotBefore(BTreeSet<TaskRunRef>);

const DAY: i64 = 86_400;

impl Checker for NotBefore {
    fn name(&self) -> &'static str {
        "not_before"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let again = step.decision.moves.iter().filter(|to| to.from.is_final());
        self.0.extend(again.map(|to| to.at));
        for start in &step.decision.starts {
            let row = &step.world.run(start.at.run).unwrap().row;
            let Some(time) = step.task(start.at).policy.not_before else { continue };
            // Items that a rerun of their mapped task makes are of that rerun.
            let index = step.world.run(start.at.run).unwrap().planned(start.at.index);
            let whole = TaskRunRef { index, ..start.at };
            if self.0.contains(&start.at)
                || self.0.contains(&whole)
                || !matches!(row.trigger, Trigger::Schedule | Trigger::Catchup)
            {
                continue;
            }
            let east = if row.timezone == "UTC" { 0 } else { 8 * 3_600 };
            let local = row.nominal_at.0 / 1_000_000 + east;
            let midnight = local - local % DAY;
            let at = midnight + i64::from(time.days) * DAY + i64::from(time.second) - east;
            if step.now < Instant::from_secs(at) {
                return Err(format!(
                    "{:?} starts at {} and not from {time} on",
                    start.at, step.now
                ));
            }
        }
        Ok(())
    }
}
