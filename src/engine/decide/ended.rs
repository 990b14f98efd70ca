//! An attempt has ended: what becomes of its task run.

use std::sync::Arc;

use super::super::run::Live;
use super::super::{End, Late, Report, TaskRunRef};
use super::Refusal;
use super::draft::Draft;
use crate::model::{
    AttemptEnd, AttemptRecord, Instant, Outcome, Progress, State, StopReason, TaskPolicy, Token,
};
use crate::policy::retry::{self, Delay, Retry, Used, Verdict};

impl Draft<'_> {
    /// A report counts only if it comes from the current attempt and that is live. A late one
    /// that says that its thread is gone gives back the slot, which is all it is good for.
    pub(super) fn attempt_ended(&mut self, report: &Report) -> Result<(), Refusal> {
        let Report { at, attempt_no, token, outcome, .. } = *report;
        self.known_run(at.run)?;
        self.world.task_run(at).ok_or(Refusal::NoTaskRun(at))?;
        let live = self.world.live(at);
        match live.filter(|live| (live.attempt_no, live.token) == (attempt_no, token)) {
            Some(live) if !live.ended => {
                let outcome = outcome_of(live, outcome);
                let result = (report.result.clone(), report.result_uri.clone());
                if let Some(texts) = &report.texts {
                    self.out.texts.push((at, (**texts).clone()));
                    self.texts.insert(at, (**texts).clone());
                }
                self.end(at, live, outcome, report.record.clone(), report.released, result);
            }
            zombie => {
                self.out.late.push(Late { at, attempt_no, token, outcome, when: self.now });
                if zombie.is_some() && report.released {
                    self.release(at);
                }
            }
        }
        Ok(())
    }

    /// The thread of an attempt whose end is recorded is gone. Said of any other it is no news.
    pub(super) fn attempt_released(
        &mut self,
        at: TaskRunRef,
        attempt_no: u32,
        token: Token,
    ) -> Result<(), Refusal> {
        self.known_run(at.run)?;
        self.world.task_run(at).ok_or(Refusal::NoTaskRun(at))?;
        let live = self.world.live(at).filter(|live| live.ended);
        if live.is_some_and(|live| (live.attempt_no, live.token) == (attempt_no, token)) {
            self.release(at);
        }
        Ok(())
    }

    pub(super) fn release(&mut self, at: TaskRunRef) {
        self.out.releases.push(at);
        self.free(at);
    }

    /// Nobody waits any longer for the end of an attempt that was asked to stop.
    pub(super) fn give_up(&mut self, at: TaskRunRef, live: &Live, reason: StopReason) {
        let duration_ms = self.now.millis_since(live.started_at);
        let record = AttemptRecord { duration_ms, ..AttemptRecord::default() };
        self.end(at, live, stopped(reason), record, false, (None, None));
    }

    /// Records the end of a live attempt, and moves its task run on.
    pub(super) fn end(
        &mut self,
        at: TaskRunRef,
        live: &Live,
        outcome: Outcome,
        record: AttemptRecord,
        released: bool,
        result: (Option<Arc<str>>, Option<String>),
    ) {
        let Some(run) = self.world.run(at.run) else { return };
        let (Some(task_run), Some(task)) = (run.get(at.index), run.task(at.index)) else { return };
        let mut record = record;
        // They are kept with the task run.
        let fingerprint = record.fingerprint.take();
        let unchanged = std::mem::take(&mut record.unchanged);
        if task.def.is_probe() {
            record.polls = Some(live.polls + u32::from(live.rest.is_none()));
        }
        let mut retry = retry_of(&task.def.policy, run.row.interactive);
        // A person is asked once, and a wait whose time is over is over.
        if task.def.is_gate() || task.def.is_probe() && outcome == Outcome::Timeout {
            retry.max_attempts = 1;
        }
        let now = self.now;
        let codes: Vec<&str> = [&record.error_code, &record.error_type]
            .into_iter()
            .filter_map(|code| code.as_deref())
            .chain(record.error_kinds.iter().map(String::as_str))
            .collect();
        let stale = task_run.counts.unmet > 0;
        let canceled_as = self.canceled_as(at, live);
        let id = task_run.id;
        self.shift(at, |p| {
            match outcome {
                Outcome::Success => {
                    p.state = State::Success;
                    (p.result, p.result_uri) = result;
                    p.unchanged = unchanged && fingerprint.is_some();
                    p.fingerprint = fingerprint;
                    // An upstream was rerun while it ran: what it saw of it is old.
                    p.stale |= stale;
                }
                Outcome::Canceled => become_of(p, State::Canceled, canceled_as),
                Outcome::Superseded => become_of(p, State::Canceled, outcome.as_str()),
                Outcome::Failed => {
                    p.errors_used += 1;
                    judge(p, &retry, retry::Ended::Failed(&codes), now, id.0);
                    p.code = Some(codes.first().copied().unwrap_or(retry::ERROR).to_owned());
                }
                Outcome::Timeout => {
                    p.errors_used += 1;
                    judge(p, &retry, retry::Ended::Timeout, now, id.0);
                    p.code = Some(outcome.as_str().to_owned());
                }
                Outcome::Lost => {
                    p.losses_used += 1;
                    judge(p, &retry, retry::Ended::Lost, now, id.0);
                    p.code = Some(outcome.as_str().to_owned());
                }
                Outcome::Preempted | Outcome::Interrupted => {
                    p.preemptions_used += u32::from(outcome == Outcome::Preempted);
                    judge(p, &retry, retry::Ended::Interrupted, now, id.0);
                    p.code = Some(outcome.as_str().to_owned());
                }
            }
            if p.state.is_final() {
                p.finished_at = Some(now);
            }
        });
        let end = AttemptEnd {
            task_run_id: id,
            attempt_no: live.attempt_no,
            token: live.token,
            outcome,
            finished_at: now,
            record,
        };
        self.out.ends.push(End { at, end, released });
        if released {
            self.free(at);
        } else {
            self.touched.push_back(at);
        }
    }
}

/// A stop in progress decides how an attempt ended, whatever is reported; but what was done
/// within the grace of a shutdown or a preemption is done.
pub(super) fn outcome_of(live: &Live, reported: Outcome) -> Outcome {
    match live.stop.map(|stop| stop.reason) {
        None => reported,
        Some(StopReason::Interrupt | StopReason::Preempt) if reported == Outcome::Success => {
            reported
        }
        Some(reason) => stopped(reason),
    }
}

pub(super) fn stopped(reason: StopReason) -> Outcome {
    match reason {
        StopReason::Cancel => Outcome::Canceled,
        StopReason::Timeout => Outcome::Timeout,
        StopReason::Preempt => Outcome::Preempted,
        StopReason::Interrupt => Outcome::Interrupted,
        StopReason::Supersede => Outcome::Superseded,
    }
}

/// What the definition says about trying again, in a run of this kind.
fn retry_of(policy: &TaskPolicy, interactive: bool) -> Retry<'_> {
    Retry {
        max_attempts: match policy.idempotent || policy.dedup_key.is_some() {
            true => policy.attempts_for(interactive),
            false => 1,
        },
        max_losses: policy.max_losses,
        retry_on: policy.retry_on.as_deref(),
        idempotent: policy.idempotent,
        delay: Delay {
            backoff: policy.retry_backoff,
            interval_ms: policy.retry_interval_ms,
            cap_ms: Some(policy.retry_cap_ms),
            jitter_permille: policy.retry_jitter_permille,
        },
    }
}

/// Moves the task run to where the retry rule sends it.
fn judge(p: &mut Progress, retry: &Retry<'_>, ended: retry::Ended<'_>, now: Instant, id: i64) {
    let used = Used { failures: p.errors_used, losses: p.losses_used };
    p.state = match retry.judge(ended, used, id, p.attempt_no) {
        Verdict::Wait(delay_ms) => {
            p.wake_at = Some(now.plus_millis(delay_ms));
            State::RetryWait
        }
        Verdict::Again => State::Ready,
        Verdict::Failed(_) => State::Failed,
        Verdict::Timeout(_) => State::Timeout,
    };
}

fn become_of(p: &mut Progress, state: State, code: &str) {
    p.state = state;
    p.code = Some(code.to_owned());
}
