//! In one decision a pool starts what is least by (priority, first READY time, id), and leaves
//! nothing that is less in its queue.

use std::collections::BTreeMap;

use mainspring::engine::TaskRunRef;
use mainspring::model::{Instant, State, TaskRunId};

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
        for run in step.world.runs().filter(|run| run.count(State::Ready) > 0) {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let at = TaskRunRef { run: run.row.id, index };
                // Items beyond the limit of their mapping may be overtaken: that is a checker's own.
                let task = step.task(at);
                let limited = task.map.as_ref().is_some_and(|map| map.max_active.is_some());
                let mapped = run.items(index).is_some();
                let waits = task_run.progress.state == State::Ready && task_run.live.is_none();
                if waits && task.slots() > 0 && !limited && !mapped {
                    let (pool, key) = place(step, at);
                    if last.get(&pool).is_some_and(|last| *last > key) {
                        return Err(format!("{key:?} was overtaken by {last:?}"));
                    }
                }
            }
        }
        Ok(())
    }
}

fn place<'a>(step: &Step<'a>, at: TaskRunRef) -> (Option<&'a str>, Key) {
    let policy = &step.task(at).policy;
    let task_run = step.world.task_run(at).unwrap();
    (policy.pool.as_deref(), (policy.priority, task_run.progress.first_ready_at, task_run.id))
}
