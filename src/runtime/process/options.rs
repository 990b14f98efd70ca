//! How worker processes are started, and how long each is kept.

use std::ffi::OsString;
use std::time::Duration;

/// How worker processes are started, and how long each is kept.
#[derive(Clone, Debug)]
pub struct ProcessOptions {
    /// The program of a supervisor and its first arguments. The worker's own program and arguments
    /// follow them.
    pub supervisor: Vec<OsString>,
    /// The program of a worker and its arguments.
    pub worker: Vec<OsString>,
    /// What is added to the environment of both.
    pub env: Vec<(OsString, OsString)>,
    /// At most so many workers at a time.
    pub workers: u32,
    /// A worker is replaced after this many attempts.
    pub max_attempts: u32,
    /// A worker is replaced when it holds more memory than this after an attempt.
    pub max_rss_kb: u64,
    /// A worker that has nothing to do ends after this time.
    pub idle: Duration,
    /// How long a worker may take to come up.
    pub start: Duration,
    /// How long what an attempt left behind may take to end by itself.
    pub leftover_grace: Duration,
}

impl ProcessOptions {
    /// With the usual limits.
    pub fn new(supervisor: Vec<OsString>, worker: Vec<OsString>, workers: u32) -> Self {
        ProcessOptions {
            supervisor,
            worker,
            env: Vec::new(),
            workers,
            max_attempts: 10_000,
            max_rss_kb: 1024 * 1024,
            idle: Duration::from_secs(300),
            start: Duration::from_secs(60),
            leftover_grace: Duration::from_millis(500),
        }
    }
}
