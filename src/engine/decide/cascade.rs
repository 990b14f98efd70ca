//! What follows from a change: who may go on, who is blocked and by whom.
//!
//! Two lists instead of recursion. First everything that is no longer held back is let go; only
//! then are broken edges looked at, each upstream at most once, because a cause that was found
//! earlier might be gone by then.

use super::super::edges::{Standing, Verdict, edge_verdict, skip_codes};
use super::super::{EdgeAt, TaskRunRef};
use super::draft::{Draft, cause};
use crate::model::{Progress, State, TaskRunId};

/// The code of a task run that is BLOCKED.
pub(super) const UPSTREAM_FAILED: &str = "UPSTREAM_FAILED";

impl Draft<'_> {
    /// Judges all that was touched, and what that touches in turn.
    pub(super) fn settle(&mut self) {
        loop {
            if let Some(at) = self.touched.pop_front() {
                self.judge(at);
            } else if let Some(at) = self.broken.pop_front() {
                self.block(at);
            } else {
                return;
            }
        }
    }

    fn judge(&mut self, at: TaskRunRef) {
        self.wait_no_longer(at);
        let counts = self.edges(at).counts;
        let Some(progress) = self.progress(at) else { return };
        match progress.state {
            // What stands there stays until it is known what its edges look at.
            _ if counts.unread > 0 => {}
            State::Pending | State::Blocked if counts.skips > 0 => {
                self.skip(at, skip_codes::NO_MATCH)
            }
            State::Pending | State::Blocked if counts.broken > 0 => self.broken.push_back(at),
            State::Running if self.is_mapped(at) => self.conclude(at),
            State::Blocked => {
                self.shift(at, unblock);
                self.touched.push_back(at);
            }
            State::Ready | State::RetryWait if counts.unmet > 0 => {
                self.shift(at, |p| p.state = State::Pending);
                self.touched.push_back(at);
            }
            State::Pending if counts.is_passed_over() => {
                self.skip(at, skip_codes::UPSTREAM_SKIPPED);
            }
            State::Pending if counts.unmet == 0 && self.stays_as_it_is(at) => {
                self.skip(at, skip_codes::UNCHANGED);
            }
            State::Pending | State::RetryWait if counts.unmet == 0 => {
                let now = self.now;
                let due = progress.wake_at.is_none_or(|wake_at| wake_at <= now);
                if due && !self.is_leased(at) {
                    self.shift(at, |p| {
                        p.state = State::Ready;
                        p.wake_at = None;
                        p.first_ready_at.get_or_insert(now);
                    });
                }
            }
            _ => {}
        }
    }

    /// It need not run.
    pub(super) fn skip(&mut self, at: TaskRunRef, code: &str) {
        let now = self.now;
        self.shift(at, |p| {
            p.state = State::Skipped;
            p.finished_at = Some(now);
            p.wake_at = None;
            p.blocked_by = None;
            p.code = Some(code.into());
        });
    }

    /// Blocks what has a broken edge, or names another cause where the old one is none any more.
    fn block(&mut self, at: TaskRunRef) {
        let edges = self.edges(at);
        let Some(progress) = self.progress(at) else { return };
        let blocked_by = progress.blocked_by;
        match progress.state {
            _ if edges.counts.broken == 0 => {}
            State::Pending => {
                if let Some(root) = self.find_cause(at) {
                    self.shift(at, |p| block(p, root));
                }
            }
            State::Blocked => {
                let known = match blocked_by {
                    Some(root) => self.is_root(at, root),
                    None => edges.hint.is_none(),
                };
                if edges.hint.is_none() && known && !edges.lost_cause {
                    return;
                }
                let code = progress.code.clone();
                let is_new = |(root, why): &Cause| {
                    *root != blocked_by || root.is_none() && code.as_deref() != Some(why)
                };
                if let Some(root) = self.find_cause(at).filter(is_new) {
                    self.shift_twice(at, unblock, |p| block(p, root));
                }
            }
            _ => {}
        }
    }

    /// What is at the root of a broken edge of this task run. None where every upstream that it
    /// could be asked of is about to get another cause itself; it will pass that on.
    fn find_cause(&mut self, at: TaskRunRef) -> Option<Cause> {
        let mut edges = self.edges(at);
        let hint = edges.hint.take().filter(|root| self.is_root(at, *root));
        let mut found = hint.map(|root| (Some(root), UPSTREAM_FAILED));
        if found.is_none() && !edges.searched {
            edges.searched = true;
            found = self.search_cause(at).map(|root| (Some(root), UPSTREAM_FAILED));
            found = found.or_else(|| self.cause_outside(at));
        }
        // With a cause that stands nothing is lost any more: it is not searched for once more.
        edges.lost_cause &= found.is_none();
        self.edges.insert(at, edges);
        found
    }

    fn search_cause(&self, at: TaskRunRef) -> Option<TaskRunId> {
        let run = self.run(at.run)?;
        run.plan.upstream(at.index).find_map(|(index, rule)| {
            let upstream = self.progress(TaskRunRef { run: at.run, index })?;
            let is_broken = edge_verdict(rule, Standing::of(upstream, None)) == Verdict::Broken;
            if !is_broken || self.is_over(at, EdgeAt::Here(index)) {
                return None;
            }
            let root = cause(run.get(index)?.id, upstream)?;
            self.is_root(at, root).then_some(root)
        })
    }
}

/// What a task run is blocked by: a task run, if it is one, and why.
type Cause = (Option<TaskRunId>, &'static str);

fn unblock(progress: &mut Progress) {
    progress.state = State::Pending;
    progress.blocked_by = None;
    progress.code = None;
}

fn block(progress: &mut Progress, (root, code): Cause) {
    progress.state = State::Blocked;
    progress.blocked_by = root;
    progress.code = Some(code.into());
}
