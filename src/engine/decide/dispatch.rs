//! Slots may be free: who starts.

use super::super::admission::Admission;
use super::super::queue::claims_of;
use super::super::run::timeout_at;
use super::super::{Effect, Rest, Start, TaskRunRef};
use super::draft::Draft;
use crate::model::{AttemptStart, State, StopReason};

impl Draft<'_> {
    /// Starts whoever is first and fits, and stops whoever has to give way to those who do not.
    pub(super) fn dispatch(&mut self) {
        let Admission { starts, victims } = self.world.admission(self.now, false);
        for (at, pool) in starts {
            self.start(at, pool);
        }
        for at in victims {
            let grace_ms = self.task(at).map_or(0, |task| task.def.policy.grace_ms);
            self.stop_within(at, StopReason::Preempt, grace_ms);
        }
    }

    fn start(&mut self, at: TaskRunRef, pool: Option<String>) {
        let (now, slots) = (self.now, self.world.slots(at));
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
            limits: claims_of(task).map_or_else(Vec::new, |claims| claims.to_vec()),
        };
        let timeout_at = timeout_at(task, now);
        let relied = self.relied(at);
        self.out.relies.extend(relied);
        let rest = task.def.is_gate().then_some(Rest { until: None });
        self.out.effects.push(Effect::Start(at, attempt.clone()));
        self.out.starts.push(Start { at, attempt, timeout_at, rest });
        self.start_block(at);
    }
}
