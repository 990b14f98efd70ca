//! What attempts hold of a limit never exceeds what there is when one starts that takes some of it;
//! one that is wider than the whole limit runs alone. The same for `max_active` of a task.

use std::collections::BTreeMap;

use mainspring::engine::TaskRunRef;
use mainspring::model::Claim;

use super::{Checker, Step};

pub struct Limits;

impl Checker for Limits {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.decision.starts.is_empty() {
            return Ok(());
        }
        let mut held: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for run in step.world.runs() {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let task = step.planned(TaskRunRef { run: run.row.id, index });
                if task_run.live.is_none() || task.def.rests() {
                    continue;
                }
                for Claim { limit, slots, .. } in task.def.policy.claims(task.task_id) {
                    let (all, holders) = held.entry(limit).or_default();
                    (*all, *holders) = (*all + slots, *holders + 1);
                }
            }
        }
        // What rests takes nothing, and what is not expanded begins and ends at once.
        for start in step.decision.starts.iter().filter(|start| start.attempt.slots > 0) {
            let task = step.planned(start.at);
            for Claim { limit, most, .. } in task.def.policy.claims(task.task_id) {
                let (slots, holders) = held[&limit];
                let there_are = most.unwrap_or_else(|| step.truth.limits[&limit]);
                if slots > there_are && holders > 1 || there_are == 0 {
                    return Err(format!("{slots} of {there_are} of {limit}"));
                }
            }
        }
        Ok(())
    }
}
