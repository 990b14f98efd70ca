//! An attempt has ended: what becomes of its task run.

use std::sync::Arc;

use super::super::run::Live;
use super::super::{End, Late, Report, TaskRunRef};
use super::Refusal;
use super::draft::Draft;
use crate::model::{
    AttemptEnd, AttemptRecord, Instant, Outcome, Progress, State, StopReason, TaskPolicy, Token,
};
use crate::policy::retry;

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
        let policy = &task.def.policy;
        let attempts = match policy.idempotent || policy.dedup_key.is_some() {
            true => policy.attempts_for(run.row.interactive),
            false => 1,
        };
        let now = self.now;
        let error = Error { code: record.error_code.clone(), class: record.error_type.clone() };
        let stale = task_run.counts.unmet > 0;
        let id = task_run.id;
        self.shift(at, |p| {
            match outcome {
                Outcome::Success => {
                    p.state = State::Success;
                    (p.result, p.result_uri) = result;
                    // An upstream was rerun while it ran: what it saw of it is old.
                    p.stale |= stale;
                }
                Outcome::Failed => failed(p, policy, attempts, State::Failed, &error),
                Outcome::Timeout => failed(p, policy, attempts, State::Timeout, &error),
                Outcome::Lost => lost(p, policy),
                Outcome::Preempted | Outcome::Interrupted => {
                    p.preemptions_used += u32::from(outcome == Outcome::Preempted);
                    let to = if policy.idempotent { State::Ready } else { State::Failed };
                    become_of(p, to, outcome.as_str());
                }
                Outcome::Canceled | Outcome::Superseded => {
                    become_of(p, State::Canceled, outcome.as_str());
                }
            }
            if p.state == State::RetryWait {
                p.wake_at = Some(wake_at(p, policy, now, outcome, id.0));
            } else if p.state.is_final() {
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

fn stopped(reason: StopReason) -> Outcome {
    match reason {
        StopReason::Cancel => Outcome::Canceled,
        StopReason::Timeout => Outcome::Timeout,
        StopReason::Preempt => Outcome::Preempted,
        StopReason::Interrupt => Outcome::Interrupted,
        StopReason::Supersede => Outcome::Superseded,
    }
}

/// What `retry_on` is matched with.
struct Error {
    code: Option<String>,
    class: Option<String>,
}

/// A result that cannot be stored is an error that no repetition mends.
const RESULT: &str = "RESULT";

fn failed(p: &mut Progress, policy: &TaskPolicy, attempts: u32, last: State, error: &Error) {
    p.errors_used += 1;
    let timeout = last == State::Timeout;
    let listed = |word: &String| match word.as_str() {
        "ERROR" => !timeout,
        "TIMEOUT" => timeout,
        word => !timeout && [&error.code, &error.class].iter().any(|x| x.as_deref() == Some(word)),
    };
    let matches = policy.retry_on.as_ref().is_none_or(|words| words.iter().any(listed));
    let hopeless = !timeout && error.code.as_deref() == Some(RESULT);
    let again = matches && !hopeless && p.errors_used < attempts;
    let code = match timeout {
        true => Outcome::Timeout.as_str(),
        false => error.code.as_deref().or(error.class.as_deref()).unwrap_or("ERROR"),
    };
    become_of(p, if again { State::RetryWait } else { last }, code);
}

fn lost(p: &mut Progress, policy: &TaskPolicy) {
    p.losses_used += 1;
    let again = policy.idempotent && p.losses_used <= policy.max_losses;
    become_of(p, if again { State::RetryWait } else { State::Failed }, Outcome::Lost.as_str());
}

fn become_of(p: &mut Progress, state: State, code: &str) {
    p.state = state;
    p.code = Some(code.to_owned());
}

fn wake_at(p: &Progress, policy: &TaskPolicy, now: Instant, why: Outcome, id: i64) -> Instant {
    let n = if why == Outcome::Lost { p.losses_used } else { p.errors_used };
    let TaskPolicy { retry_backoff, retry_interval_ms, retry_cap_ms, .. } = *policy;
    let delay = retry::delay_ms(retry_backoff, retry_interval_ms, retry_cap_ms, n);
    let delay = retry::spread_ms(delay, policy.retry_jitter_permille, id, p.attempt_no);
    now.plus_millis(delay)
}
