//! Which executor runs which job: one rule in one place.

use std::sync::{Arc, OnceLock};

use super::executor::{Executor, Finished, HandlerHost, Job, ProcessHost};
use super::inline::InlinePool;
use super::logs::LogSink;
use super::reporter::Reporter;
use crate::engine::TaskRunRef;
use crate::model::StopReason;

/// The executor for handlers in files, once a process has one.
#[derive(Clone, Default)]
pub struct Processes(Arc<OnceLock<Arc<dyn Executor + Send + Sync>>>);

impl Processes {
    /// From now on such handlers run there. False where it was said before.
    pub fn are(&self, executor: Arc<dyn Executor + Send + Sync>) -> bool {
        self.0.set(executor).is_ok()
    }

    /// The executor, if there is one.
    pub fn get(&self) -> Option<&dyn Executor> {
        self.0.get().map(|executor| &**executor as &dyn Executor)
    }
}

/// The executors of a process.
pub struct Executors {
    inline: InlinePool,
    processes: Processes,
    reporter: Reporter,
}

impl Executors {
    /// Handlers of this process run inline; those in files in processes, where there are any.
    pub fn new(inline: InlinePool, processes: Processes, reporter: Reporter) -> Self {
        Executors { inline, processes, reporter }
    }

    /// Who runs the handlers of this host; none where this process has no such executor.
    fn of(&self, host: &HandlerHost) -> Option<&dyn Executor> {
        if host.is::<ProcessHost>() { self.processes.get() } else { Some(&self.inline) }
    }
}

impl Executor for Executors {
    fn submit(&self, jobs: Vec<Job>) {
        // Neighbours go together: an executor wakes one thread for many.
        let mut rest = jobs.into_iter().peekable();
        while let Some(first) = rest.next() {
            let in_file = first.host.is::<ProcessHost>();
            let executor = self.of(&first.host);
            let mut together = vec![first];
            while let Some(next) = rest.next_if(|job| job.host.is::<ProcessHost>() == in_file) {
                together.push(next);
            }
            match executor {
                Some(executor) => executor.submit(together),
                None => {
                    for job in together {
                        let why = "this session has no worker processes: it was opened without";
                        self.reporter.report(&job, Finished::failed("EXECUTOR", "NoExecutor", why));
                    }
                }
            }
        }
    }

    fn stop(&self, at: TaskRunRef, attempt_no: u32, reason: StopReason, grace_ms: i64) {
        // Each knows which attempts are its own.
        self.inline.stop(at, attempt_no, reason, grace_ms);
        if let Some(process) = self.processes.get() {
            process.stop(at, attempt_no, reason, grace_ms);
        }
    }

    fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>> {
        let processes = self.processes.get();
        self.inline.log_of(at).or_else(|| processes.and_then(|process| process.log_of(at)))
    }

    fn params_of(&self, at: TaskRunRef) -> Option<String> {
        let processes = self.processes.get();
        self.inline.params_of(at).or_else(|| processes.and_then(|process| process.params_of(at)))
    }

    fn lease_lost(&self) {
        self.inline.lease_lost();
        if let Some(process) = self.processes.get() {
            process.lease_lost();
        }
    }

    fn close(&self) {
        if let Some(process) = self.processes.get() {
            process.close();
        }
        self.inline.close();
    }
}
