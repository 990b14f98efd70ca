//! Whether an attempt that ended badly is tried again, and after which delay.
//!
//! Three budgets, each with a counter of its own that an explicit rerun resets: failures and
//! timeouts against `max_attempts`, losses (the worker vanished) against `max_losses`,
//! preemptions against a fixed cap that is asked before a victim is chosen. An orderly
//! interruption costs nothing.

use super::jitter;
pub use crate::model::Backoff;

/// Losses allowed where nothing else is said: a task that kills its worker must not loop.
pub const MAX_LOSSES: u32 = 3;

/// How often a task run may be stopped in favour of a more urgent one.
pub const MAX_PREEMPTIONS: u32 = 3;

/// The longest exponential delay where nothing else is said: one hour.
pub const DEFAULT_CAP_MS: i64 = 3_600_000;

/// The longest delay at all, a leap year: due times stay inside every calendar whatever a
/// definition says.
pub const LONGEST_DELAY_MS: i64 = 366 * 86_400_000;

/// The code of a result that cannot be stored; the next try would return the same.
pub const RESULT: &str = "RESULT";

/// The codes of an attempt whose texts could not be filled in: the next try would get the same.
pub const RENDER: [&str; 2] = ["RENDER", "SECRET"];

/// In `retry_on`: any failure. A timeout is not one and is named by itself.
pub const ERROR: &str = "ERROR";

/// In `retry_on`: an attempt that ran out of its time.
pub const TIMEOUT: &str = "TIMEOUT";

/// How long to wait before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How it grows.
    pub backoff: Backoff,
    /// The first delay; negative counts as none.
    pub interval_ms: i64,
    /// The longest exponential delay. Without one it is [`DEFAULT_CAP_MS`], or the interval where
    /// that is longer: a default must not shorten what was asked for.
    pub cap_ms: Option<i64>,
    /// How far the delay may move either way, in thousandths of itself; 0 for not at all.
    pub jitter_permille: u32,
}

impl Delay {
    /// The delay after failed attempt `n` (1 is the first), before jitter.
    #[must_use]
    pub fn after(&self, n: u32) -> i64 {
        let interval = self.interval_ms.max(0);
        let doublings = match self.backoff {
            Backoff::Fixed => 0,
            Backoff::Exponential => n.saturating_sub(1),
        };
        // Clamped before it can overflow: 62 doublings of a millisecond pass every cap.
        let factor = 1_i64 << doublings.min(62);
        interval.saturating_mul(factor).min(self.longest())
    }

    /// The same with the jitter of this task run and attempt.
    #[must_use]
    pub fn jittered(&self, n: u32, task_run: i64, attempt: u32) -> i64 {
        let hash = jitter::hash(task_run, attempt);
        jitter::spread(self.after(n), self.jitter_permille, self.longest(), hash)
    }

    /// No delay is longer, jitter included.
    fn longest(&self) -> i64 {
        let cap = match (self.backoff, self.cap_ms) {
            (Backoff::Fixed, _) => LONGEST_DELAY_MS,
            (Backoff::Exponential, Some(cap)) => cap.max(0),
            (Backoff::Exponential, None) => DEFAULT_CAP_MS.max(self.interval_ms),
        };
        cap.min(LONGEST_DELAY_MS)
    }
}

/// What a definition says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// How many attempts may fail or time out, the first included; 0 counts as 1.
    pub max_attempts: u32,
    /// How many attempts may be lost.
    pub max_losses: u32,
    /// Codes that are tried again; absent means all, empty means none.
    pub retry_on: Option<&'a [String]>,
    /// Whether a half-done attempt may simply be done again.
    pub idempotent: bool,
    /// The delay before the next attempt.
    pub delay: Delay,
}

/// What a task run has used up since it was made or last rerun, the present attempt included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Attempts that failed or timed out.
    pub failures: u32,
    /// Attempts whose worker vanished.
    pub losses: u32,
}

/// How an attempt ended, where trying again is a question at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<'a> {
    /// It failed, with every code that fits: an exception's own class name and those above it.
    Failed(&'a [&'a str]),
    /// It ran out of time.
    Timeout,
    /// The lease of its worker ended.
    Lost,
    /// It was stopped by an orderly shutdown.
    Interrupted,
    /// It was stopped in favour of a more urgent task.
    Preempted,
}

/// What becomes of the task run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// RETRY_WAIT for so many milliseconds.
    Wait(i64),
    /// READY at once, its place in the queue kept.
    Again,
    /// FAILED for good.
    Failed(Why),
    /// TIMEOUT for good.
    Timeout(Why),
}

/// Why there is no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// `max_attempts` is used up.
    Attempts,
    /// `max_losses` is used up.
    Losses,
    /// `retry_on` names none of its codes.
    RetryOn,
    /// The result could not be stored.
    Result,
    /// Its texts could not be filled in.
    Render,
    /// It stopped half-done and is not idempotent.
    NotIdempotent,
}

impl Retry<'_> {
    /// Judges an attempt that ended. `task_run` and `attempt` only spread the delay.
    #[must_use]
    pub fn judge(&self, ended: Ended<'_>, used: Used, task_run: i64, attempt: u32) -> Verdict {
        let refused = match ended {
            Ended::Failed(codes) => self.refuse_failure(codes, used),
            Ended::Timeout => self.refuse_timeout(used),
            _ if !self.idempotent => Some(Why::NotIdempotent),
            Ended::Lost if used.losses >= self.max_losses => Some(Why::Losses),
            Ended::Lost | Ended::Interrupted | Ended::Preempted => None,
        };
        // Each kind grows its own delay, so that a crash after two failures does not jump ahead.
        let wait = |n| Verdict::Wait(self.delay.jittered(n, task_run, attempt));
        match (ended, refused) {
            (Ended::Timeout, Some(why)) => Verdict::Timeout(why),
            (_, Some(why)) => Verdict::Failed(why),
            (Ended::Failed(_) | Ended::Timeout, None) => wait(used.failures),
            // The first loss is the worker's fault more often than the task's, and whoever takes the
            // run up is waiting: no delay. From the second on it is treated as the task's.
            (Ended::Lost, None) if used.losses <= 1 => Verdict::Wait(0),
            (Ended::Lost, None) => wait(used.losses - 1),
            (Ended::Interrupted | Ended::Preempted, None) => Verdict::Again,
        }
    }

    fn refuse_failure(&self, codes: &[&str], used: Used) -> Option<Why> {
        let listed =
            |on: &[String]| on.iter().any(|code| code == ERROR || codes.contains(&code.as_str()));
        if codes.contains(&RESULT) {
            Some(Why::Result)
        } else if codes.first().is_some_and(|code| RENDER.contains(code)) {
            Some(Why::Render)
        } else if !self.retry_on.is_none_or(listed) {
            Some(Why::RetryOn)
        } else {
            self.attempts_used_up(used)
        }
    }

    fn refuse_timeout(&self, used: Used) -> Option<Why> {
        if self.retry_on.is_none_or(|on| on.iter().any(|code| code == TIMEOUT)) {
            self.attempts_used_up(used)
        } else {
            Some(Why::RetryOn)
        }
    }

    fn attempts_used_up(&self, used: Used) -> Option<Why> {
        (used.failures >= self.max_attempts).then_some(Why::Attempts)
    }
}

/// Whether a task run that was preempted so many times may be chosen as a victim once more.
#[must_use]
pub const fn may_preempt(preemptions: u32) -> bool {
    preemptions < MAX_PREEMPTIONS
}
