//! Time is up: a deadline has passed, or something was BLOCKED for too long.

use super::super::run::Live;
use super::super::{Overdue, TaskRunRef};
use super::draft::Draft;
use crate::model::{OnDeadline, State};

/// The code of what was canceled at its deadline.
const DEADLINE: &str = "DEADLINE";
/// The code of what was BLOCKED for longer than it may.
const BLOCK_TIMEOUT: &str = "BLOCK_TIMEOUT";

impl Draft<'_> {
    /// Notes a deadline that has passed. True where the task run is canceled for that.
    pub(super) fn check_deadline(&mut self, at: TaskRunRef) -> bool {
        let now = self.now;
        let Some(task_run) = self.world.task_run(at) else { return false };
        let (id, p) = (task_run.id, &task_run.progress);
        let Some(deadline_at) = p.deadline_at.filter(|deadline_at| *deadline_at <= now) else {
            return false;
        };
        if p.state.is_final() || p.overdue_at.is_some() {
            return false;
        }
        let policy = self.task(at).map(|task| &task.def.policy);
        let cancels = policy.is_some_and(|policy| policy.on_deadline == OnDeadline::Cancel);
        self.out.overdue.push(Overdue { at, id, deadline_at, when: now, cancels });
        if cancels {
            self.cancel_all(at.run, vec![at.index], None, DEADLINE);
        }
        cancels
    }

    /// Ends for good what has no live attempt.
    pub(super) fn cancel_open(&mut self, at: TaskRunRef, code: &str) {
        let now = self.now;
        self.shift(at, |p| {
            p.state = State::Canceled;
            p.finished_at = Some(now);
            p.wake_at = None;
            p.blocked_by = None;
            p.code = Some(code.into());
        });
    }

    /// The code of a live attempt that was canceled: by its deadline, or by somebody. What began
    /// after its deadline was asked for by somebody who knew that.
    pub(super) fn canceled_as(&self, at: TaskRunRef, live: &Live) -> &'static str {
        let policy = self.task(at).map(|task| &task.def.policy);
        let cancels = policy.is_some_and(|policy| policy.on_deadline == OnDeadline::Cancel);
        let here = self.out.overdue.iter().any(|overdue| overdue.at == at);
        let overdue_at = self.progress(at).and_then(|p| p.overdue_at);
        let before = overdue_at.is_some_and(|overdue_at| overdue_at > live.started_at);
        if cancels && (here || before) { DEADLINE } else { State::Canceled.as_str() }
    }

    /// Gives up what was BLOCKED for as long as it may be.
    pub(super) fn check_blocked(&mut self, at: TaskRunRef) {
        let now = self.now;
        let Some(p) = self.progress(at) else { return };
        if p.state == State::Blocked && p.blocked_until.is_some_and(|until| until <= now) {
            self.shift(at, |p| {
                p.state = State::Failed;
                p.finished_at = Some(now);
                p.wake_at = None;
                p.blocked_by = None;
                p.code = Some(BLOCK_TIMEOUT.into());
            });
        }
    }
}
