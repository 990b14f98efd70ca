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
                if task_run.live.is_some() {
                    let policy = &step.task(TaskRunRef { run: run.row.id, index }).policy;
                    let (slots, holders) = held.entry(&policy.pool).or_default();
                    (*slots, *holders) = (*slots + policy.slots, *holders + 1);
                }
            }
        }
        for start in step.decision.starts.iter().filter(|start| start.attempt.slots > 0) {
            let (slots, holders) = held[&start.attempt.pool];
            let there_are = step.truth.pools[&start.attempt.pool];
            if slots > there_are && holders > 1 || there_are == 0 {
                return Err(format!("{slots} of {there_are} in {:?}", start.attempt.pool));
            }
        }
        Ok(())
    }
}
