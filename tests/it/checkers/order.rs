//! In one decision a pool starts what is least by (priority, first READY time, id), the priority as
//! it is after the wait where the queue ages. It leaves nothing that is less in its queue, unless a
//! limit holds that back: one that is full, or that somebody before it waits for too.

use std::collections::BTreeMap;

use mainspring::engine::TaskRunRef;
use mainspring::model::{Claim, Instant, State, TaskRunId};

use super::{Checker, Step};

pub struct Order;

type Key = (u8, Option<Instant>, TaskRunId);

impl Checker for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let mut last: BTreeMap<Option<&str>, Key> = BTreeMap::new();
        // What takes no slot stands in no queue.
        for start in step.decision.starts.iter().filter(|start| start.attempt.slots > 0) {
            let (pool, key) = place(step, start.at);
            if last.insert(pool, key).is_some_and(|before| before >= key) {
                return Err(format!("{key:?} started out of order"));
            }
        }
        if last.is_empty() {
            return Ok(());
        }
        let mut waiting = Vec::new();
        for run in step.world.runs().filter(|run| run.count(State::Ready) > 0) {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let at = TaskRunRef { run: run.row.id, index };
                let waits = task_run.progress.state == State::Ready && task_run.live.is_none();
                if waits && step.task(at).slots() > 0 && run.items(index).is_none() {
                    waiting.push(at);
                }
            }
        }
        for at in &waiting {
            let (pool, key) = place(step, *at);
            // Items beyond the limit of their mapping may be overtaken: that is a checker's own.
            let limited = step.task(*at).map.as_ref().is_some_and(|map| map.max_active.is_some());
            let overtaken = !limited && last.get(&pool).is_some_and(|last| *last > key);
            let held_back = |claim: &Claim| holds_back(step, key, claim, &waiting);
            if overtaken && !claims(step, *at).iter().any(held_back) {
                return Err(format!("{key:?} was overtaken by {last:?}"));
            }
        }
        Ok(())
    }
}

fn claims(step: &Step, at: TaskRunRef) -> Vec<Claim> {
    let task = step.planned(at);
    task.def.policy.claims(task.task_id)
}

fn holds_back(step: &Step, key: Key, claim: &Claim, waiting: &[TaskRunRef]) -> bool {
    let held = step.world.limit(&claim.limit).map_or(0, |(_, held)| held);
    let there_are = claim.most.unwrap_or_else(|| step.truth.limits[&claim.limit]);
    let full = held > 0 && held + claim.slots > there_are;
    let before = |at: &TaskRunRef| {
        let shares = claims(step, *at).iter().any(|other| other.limit == claim.limit);
        shares && place(step, *at).1 < key
    };
    full || waiting.iter().any(before)
}

fn place<'a>(step: &Step<'a>, at: TaskRunRef) -> (Option<&'a str>, Key) {
    let policy = &step.task(at).policy;
    let task_run = step.world.task_run(at).unwrap();
    let first = task_run.progress.first_ready_at;
    let ageing = step.truth.ageing.get(&policy.pool).copied().flatten();
    let waited = step.now.millis_since(first.unwrap_or_default()).max(0);
    let classes = ageing.map_or(0, |ageing| waited / ageing).min(9) as u8;
    let priority = policy.priority.saturating_sub(classes);
    (policy.pool.as_deref(), (priority, first, task_run.id))
}
