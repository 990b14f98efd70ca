//! Slots may be free: who starts.

use super::super::run::timeout_at;
use super::super::{Effect, Rest, Start, TaskRunRef};
use super::draft::Draft;
use crate::model::{AttemptStart, State};

impl Draft<'_> {
    /// Starts, pool by pool, what is first in the queue until one does not fit. Those behind it
    /// wait too, so that narrow ones never starve a wide one.
    pub(super) fn dispatch(&mut self) {
        let world = self.world;
        if world.interrupting {
            return;
        }
        // What takes no slot stands in nobody's way.
        for at in world.light.iter().filter(|at| world.is_open(**at)) {
            self.start(*at, world.pool_of(*at), 0);
        }
        for (name, pool) in &world.pools {
            let mut held = pool.held;
            for at in pool.queue.values() {
                let slots = world.slots(*at);
                if !pool.fits(held, slots) {
                    break;
                }
                held += slots;
                self.start(*at, name.clone(), slots);
            }
        }
    }

    fn start(&mut self, at: TaskRunRef, pool: Option<String>, slots: u32) {
        let now = self.now;
        self.shift(at, |p| {
            p.state = State::Running;
            p.attempt_no += 1;
            p.token = p.token.next(now);
            p.started_at.get_or_insert(now);
            p.code = None;
        });
        let (Some(run), Some(progress)) = (self.world.run(at.run), self.progress(at)) else {
            return;
        };
        let Some(task) = run.task(at.index) else { return };
        let attempt = AttemptStart {
            task_run_id: run.task_run(at.index).id,
            attempt_no: progress.attempt_no,
            token: progress.token,
            nominal_at: run.row.nominal_at,
            task_version_id: task.version_id,
            node_id: self.world.node,
            started_at: now,
            slots,
            pool,
        };
        let timeout_at = timeout_at(task, now);
        let relied = self.relied(at);
        self.out.relies.extend(relied);
        let rest = task.def.is_gate().then_some(Rest { until: None });
        self.out.effects.push(Effect::Start(at, attempt.clone()));
        self.out.starts.push(Start { at, attempt, timeout_at, rest });
    }
}
