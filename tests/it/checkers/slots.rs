//! Slots held in a pool, threads that still run included, never exceed what there are when
//! something starts; one that is wider than its pool runs alone.

use std::collections::BTreeMap;

use mainspring::engine::TaskRunRef;

use super::{Checker, Step};

pub struct Slots;

impl Checker for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.decision.starts.is_empty() {
            return Ok(());
        }
        let mut held: BTreeMap<&Option<String>, (u32, u32)> = BTreeMap::new();
        for run in step.world.runs() {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let task = step.task(TaskRunRef { run: run.row.id, index });
                if task_run.live.is_some() && task.slots() > 0 {
                    let (slots, holders) = held.entry(&task.policy.pool).or_default();
                    (*slots, *holders) = (*slots + task.slots(), *holders + 1);
                }
            }
        }
        for start in step.decision.starts.iter().filter(|start| start.attempt.slots > 0) {
            let there_are = step.truth.pools[&start.attempt.pool];
            // What needs none adds to nothing; see `rests`.
            let needs = step.task(start.at).slots() > 0;
            let (slots, holders) = if needs { held[&start.attempt.pool] } else { (0, 0) };
            if slots > there_are && holders > 1 || there_are == 0 {
                return Err(format!("{slots} of {there_are} in {:?}", start.attempt.pool));
            }
        }
        Ok(())
    }
}
