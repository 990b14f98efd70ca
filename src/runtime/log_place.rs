//! Where the output of an attempt is kept for readers on other machines, and how much of it.

use std::fmt;
use std::sync::Arc;

/// What an attempt's output may hold where nobody says; the rest is counted and left out.
pub const LOG_LIMIT: u64 = 64 * 1024 * 1024;

/// How a session keeps the output of its attempts.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The URI below which somebody else brings it; the row of an attempt then names that place.
    pub prefix: Option<Arc<str>>,
    /// Bytes of output that are kept of one attempt.
    pub limit: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { prefix: None, limit: LOG_LIMIT }
    }
}

/// The place of one attempt's output below a prefix. Names of dags and tasks are letters, digits,
/// `_` and `-`, so they are safe in paths and keys; a run has the microsecond of its making beside
/// its id, so that two databases may share a prefix.
pub struct LogPlace<'a> {
    /// Key of the dag.
    pub dag: &'a str,
    /// Business date of the run.
    pub biz_date: &'a str,
    /// Id of the run, and when it was made, in microseconds.
    pub run: (i64, i64),
    /// Name of the task, and the place of an item of a mapped one.
    pub task: (&'a str, Option<u32>),
    /// Which attempt.
    pub attempt_no: u32,
}

impl LogPlace<'_> {
    /// Its URI below a prefix.
    pub fn below(&self, prefix: &str) -> String {
        format!("{}/{self}", prefix.trim_end_matches('/'))
    }
}

impl fmt::Display for LogPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogPlace { dag, biz_date, run: (run, made), task: (task, item), attempt_no } = self;
        write!(f, "{dag}/{biz_date}/run-{run}-{made}/{task}/")?;
        if let Some(item) = item {
            write!(f, "item-{item}/")?;
        }
        write!(f, "attempt-{attempt_no}")
    }
}
