//! What attempts hold of a limit never exceeds what there is when one starts that takes some of it;
//! one that is wider than the whole limit runs alone. The same for `max_active` of a task.

use std::collections::BTreeMap;

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
            let tasks = &step.truth.plans[&run.row.id].tasks;
            for (task_run, task) in run.task_runs().iter().zip(tasks) {
                if task_run.live.is_none() {
                    continue;
                }
                for Claim { limit, slots, .. } in task.def.policy.claims(task.task_id) {
                    let (all, holders) = held.entry(limit).or_default();
                    (*all, *holders) = (*all + slots, *holders + 1);
                }
            }
        }
        for start in &step.decision.starts {
            let task = &step.truth.plans[&start.at.run].tasks[start.at.index as usize];
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
