//! How an attempt ended, in the words of its record.

use super::wire::{DeathCertificate, Done};
use crate::model::{AttemptRecord, Outcome};
use crate::runtime::executor::{Finished, Job};

/// What is known of an attempt besides its end.
pub struct Seen {
    /// The worker's process id.
    pub pid: i32,
    /// Processor time of the worker when the attempt began.
    pub cpu_before_ms: i64,
}

/// The handler returned or raised.
pub fn done(job: &Job, seen: &Seen, done: Done) -> Finished {
    let record = AttemptRecord {
        duration_ms: job.elapsed_ms(),
        pid: Some(i64::from(seen.pid)),
        ..done.record
    };
    let result = done.result.map(|text| text.get().into());
    Finished { outcome: done.outcome, result, record, not_ready: done.not_ready }
}

/// The worker ended in the midst of it. That is the handler's own doing, or was done to it: a
/// failure, whose number is bounded by `max_attempts`. It is no loss, for how it ended is known.
pub fn died(job: &Job, seen: &Seen, how: &DeathCertificate) -> Finished {
    let (code, kind, message) = match (how.exit_code, how.signal) {
        (Some(code), _) => (
            format!("EXIT_{code}"),
            "ProcessExit",
            format!("the handler ended its process with exit code {code}, and did not return"),
        ),
        (None, Some(signal)) => {
            let name = name_of(signal).map(|name| format!(" ({name})")).unwrap_or_default();
            let why = match (how.asked, signal) {
                (true, 9 | 15) => "its process was ended",
                (false, 9) => "its process was killed, by somebody or for want of memory",
                _ => "its process crashed",
            };
            (format!("SIGNAL_{signal}"), "ProcessSignal", format!("{why}: signal {signal}{name}"))
        }
        (None, None) => ("WORKER".into(), "WorkerLost", "nobody saw its process end".into()),
    };
    let cpu_ms = how.cpu_ms.map(|whole| (whole - seen.cpu_before_ms).max(0));
    let mut finished = Finished::failed(&code, kind, message);
    finished.record = AttemptRecord {
        duration_ms: job.elapsed_ms(),
        cpu_ms,
        max_rss_kb: how.max_rss_kb,
        pid: Some(i64::from(seen.pid)),
        exit_code: how.exit_code,
        signal: how.signal,
        ..finished.record
    };
    finished
}

/// The handler closed the way on which its end would have come.
pub fn cut(job: &Job, seen: &Seen, how: &DeathCertificate) -> Finished {
    let mut finished = died(job, seen, how);
    finished.record.error_code = Some("WORKER".into());
    finished.record.error_type = Some("WorkerCut".into());
    finished.record.error =
        Some("the handler closed the connection of its process to the scheduler".into());
    finished
}

/// The supervisor is gone, and with it whoever knew the end: a loss.
pub fn lost(job: &Job, seen: &Seen) -> Finished {
    let mut finished = Finished::failed(
        "SUPERVISOR",
        "WorkerLost",
        "the process that watches over the worker was killed, and how the handler ended is unknown",
    );
    finished.outcome = Outcome::Lost;
    finished.record.duration_ms = job.elapsed_ms();
    finished.record.pid = Some(i64::from(seen.pid));
    finished
}

/// It was killed and lives on.
pub fn survived(job: &Job, seen: &Seen, pids: &[i32]) -> Finished {
    let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
    let why = format!("killed again and again, and still there: {}", pids.join(", "));
    let mut finished = Finished::failed("KILL", "KillFailed", why);
    finished.record.duration_ms = job.elapsed_ms();
    finished.record.pid = Some(i64::from(seen.pid));
    finished
}

/// No worker could be had.
pub fn no_worker(job: &Job, why: &str) -> Finished {
    let message = format!("no worker process could be started: {why}");
    let mut finished = Finished::failed("WORKER", "WorkerNotStarted", message);
    finished.record.duration_ms = job.elapsed_ms();
    finished
}

/// The names of the signals that end processes; their numbers are those of Linux.
fn name_of(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}
