//! What an executor is given, and what it says back. Knows no Python: a host language is whoever
//! implements `Interpreter` and `HandlerHost`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::clock::Clock;
use super::logs::LogSink;
use crate::engine::TaskRunRef;
use crate::model::{
    AttemptRecord, AttemptStart, Date, Instant, Outcome, RunId, StopReason, TaskDef,
};

/// The way out of the interpreter for as long as a thread has nothing to do in it.
pub type Rest<'a> = &'a dyn Fn(&mut (dyn FnMut() + Send));

/// The language that handlers are written in, as far as threads must know it.
pub trait Interpreter: Send + Sync {
    /// Runs `body` with this thread attached to the interpreter; not at all where that is going
    /// down. `body` waits by way of its argument, so that others can have the interpreter then.
    fn enter(&self, body: &mut dyn FnMut(Rest<'_>));

    /// Asks what runs behind `handle` to stop. Called on a thread of its own, entered.
    fn stop(&self, handle: &StopHandle, reason: StopReason);
}

/// The handlers of one dag, as its author's process has them.
pub trait HandlerHost: Send + Sync {
    /// Calls the handler of a job. Called with the interpreter entered.
    ///
    /// `stoppable` is told how to stop it as soon as that is known.
    fn call(&self, job: &Arc<Job>, reporter: &Reporter, stoppable: &dyn Fn(StopHandle)) -> Called;

    /// Itself, for the host language to find its own again.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// How a running handler is asked to stop; made and understood by the host language alone.
pub type StopHandle = Arc<dyn std::any::Any + Send + Sync>;

/// What became of a call.
#[allow(clippy::large_enum_variant, reason = "made once a call and taken apart at once")]
pub enum Called {
    /// It ended.
    Done(Finished),
    /// It goes on elsewhere (on an event loop) and reports by itself.
    Later,
}

/// How a call ended.
#[derive(Debug)]
pub struct Finished {
    /// SUCCESS or FAILED, as the handler had it; a stop in progress overrules it.
    pub outcome: Outcome,
    /// The result as JSON text.
    pub result: Option<Arc<str>>,
    /// What was seen.
    pub record: AttemptRecord,
}

impl Finished {
    /// A failure that is ours to word: code, kind and message.
    pub fn failed(code: &str, kind: &str, message: impl Into<String>) -> Self {
        Finished {
            outcome: Outcome::Failed,
            result: None,
            record: AttemptRecord {
                error_code: Some(code.to_owned()),
                error_type: Some(kind.to_owned()),
                error: Some(message.into()),
                ..AttemptRecord::default()
            },
        }
    }
}

/// What the handlers of a run may know of it.
#[derive(Debug)]
pub struct RunInfo {
    /// The run.
    pub id: RunId,
    /// Key of its dag.
    pub dag: String,
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Its data interval.
    pub interval: (Instant, Instant),
    /// Zone in which its dates are reckoned.
    pub timezone: String,
    /// Values of its parameters.
    pub params: Map<String, Value>,
}

/// An argument that is the result of an upstream.
#[derive(Clone, Debug)]
pub enum Input {
    /// JSON text.
    Text(Arc<str>),
    /// The file that holds the JSON text.
    File(String),
    /// The upstream returned nothing, or did not run.
    Nothing,
}

/// One attempt to be run.
pub struct Job {
    /// Its place.
    pub at: TaskRunRef,
    /// The attempt.
    pub attempt: AttemptStart,
    /// What it does.
    pub def: Arc<TaskDef>,
    /// Of which run.
    pub run: Arc<RunInfo>,
    /// Arguments that are results of upstreams.
    pub inputs: Vec<(String, Input)>,
    /// Who can call the handler.
    pub host: Arc<dyn HandlerHost>,
    /// Where its output goes.
    pub log: Arc<LogSink>,
    /// The clock of its session.
    pub clock: Clock,
}

impl Job {
    /// Milliseconds since it was started.
    pub fn elapsed_ms(&self) -> i64 {
        self.clock.now().millis_since(self.attempt.started_at)
    }

    /// `dag.task`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.run.dag, self.def.name)
    }
}

/// How the end of a job is told, by whoever runs it.
pub trait Ended: Send + Sync {
    /// The attempt has ended and its thread is free.
    fn ended(&self, job: &Job, finished: Finished);
}

/// Where a handler that goes on elsewhere reports its end; exactly once.
#[derive(Clone)]
pub struct Reporter(pub(super) Arc<dyn Ended>);

impl Reporter {
    /// The attempt has ended and its thread is free.
    pub fn ended(&self, job: &Job, finished: Finished) {
        self.0.ended(job, finished);
    }
}
