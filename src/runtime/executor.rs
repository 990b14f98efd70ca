//! What an executor is given, and what it says back. Knows no Python: a host language brings the
//! threads that call its handlers, and a way to stop what runs.

use std::any::Any;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Map, Value};

use super::clock::Clock;
use super::logs::LogSink;
use super::render::Texts;
use crate::engine::TaskRunRef;
use crate::model::{
    AttemptRecord, AttemptStart, Date, Fingerprint, Instant, Outcome, RunId, StopReason, TaskDef,
    fingerprint_of,
};

/// Where attempts run. What becomes of each is told to the driver, once: with its slot, or first
/// its end and, when nothing of it is left, a second report that gives the slot back.
pub trait Executor {
    /// Takes jobs, in their order.
    fn submit(&self, jobs: Vec<Job>);

    /// Asks an attempt to stop, which may take `grace_ms`. One that has not begun is dropped and
    /// reported at once; one that is not here is no news.
    fn stop(&self, at: TaskRunRef, attempt_no: u32, reason: StopReason, grace_ms: i64);

    /// The log of a running attempt.
    fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>>;

    /// What was filled into the texts of a running attempt, where that is known here.
    fn params_of(&self, at: TaskRunRef) -> Option<String> {
        let _ = at;
        None
    }

    /// This process decides no longer: what can be ended from outside must not go on.
    fn lease_lost(&self) {}

    /// Ends what is left, and waits for it as long as is decent.
    fn close(&self);
}

/// The language that handlers are written in, as far as stopping them goes.
pub trait Interpreter: Send + Sync {
    /// Asks what runs behind `handle` to stop. Called on a thread of its own.
    fn stop(&self, handle: &StopHandle, reason: StopReason);
}

/// The handlers of one dag, as its author's process has them; understood by the host language
/// alone.
pub type HandlerHost = Arc<dyn Any + Send + Sync>;

/// Handlers in a file of their own, called by worker processes that import it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHost {
    /// The file.
    pub file: PathBuf,
    /// The dag in it.
    pub dag: String,
    /// Fingerprint of the file's content: a worker that has another version of it starts anew.
    /// With the form `sha256:<hex>` the worker compares it with what it reads.
    pub version: String,
}

/// How a running handler is asked to stop; made and understood by the host language alone.
pub type StopHandle = Arc<dyn Any + Send + Sync>;

/// How a call ended.
#[derive(Debug)]
pub struct Finished {
    /// SUCCESS or FAILED, as the handler had it; a stop in progress overrules it.
    pub outcome: Outcome,
    /// The result as JSON text.
    pub result: Option<Arc<str>>,
    /// What was seen.
    pub record: AttemptRecord,
    /// The check of a probe said no: the attempt goes on, and nothing runs for it meanwhile.
    pub not_ready: bool,
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
            not_ready: false,
        }
    }

    /// The check of a probe said no.
    pub fn not_ready(record: AttemptRecord) -> Self {
        Finished { outcome: Outcome::Success, result: None, record, not_ready: true }
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

/// An item of a mapped task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobItem {
    /// Its place in the list.
    pub map_index: u32,
    /// What it is given, as JSON text.
    pub text: Arc<str>,
}

impl JobItem {
    /// What it is given.
    pub fn value(&self) -> Value {
        // It was taken out of a list that could be read.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
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
    /// Which item it is, where its task is mapped.
    pub item: Option<JobItem>,
    /// Arguments that are results of upstreams.
    pub inputs: Vec<(String, Input)>,
    /// Texts with placeholders; whoever calls the handler has them filled in first.
    pub texts: Texts,
    /// Who can call the handler.
    pub host: HandlerHost,
    /// Where its output goes.
    pub log: Arc<LogSink>,
    /// The clock of its session.
    pub clock: Clock,
    /// How it is asked to stop.
    pub stoppable: Stoppable,
    /// The fingerprint that its handler says by itself.
    pub said: Said,
}

/// The fingerprint that a handler says by itself; the last one counts.
#[derive(Default)]
pub struct Said(Mutex<Option<String>>);

impl Said {
    /// The handler says this.
    pub fn say(&self, fingerprint: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
    }

    /// What it has said, if it did.
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How a job is asked to stop: by a handle that is known once its handler is about to be called,
/// and at most once, whichever of the two comes first.
#[derive(Default)]
pub struct Stoppable {
    handle: OnceLock<StopHandle>,
    asked: OnceLock<StopReason>,
    taken: AtomicBool,
}

impl Stoppable {
    /// From now on it can be stopped by this; returned is what to do at once.
    pub(super) fn by(&self, handle: StopHandle) -> Option<(StopHandle, StopReason)> {
        let _ = self.handle.set(handle);
        self.both()
    }

    /// It should stop for this reason; returned is what to do at once.
    pub(super) fn ask(&self, reason: StopReason) -> Option<(StopHandle, StopReason)> {
        let _ = self.asked.set(reason);
        self.both()
    }

    fn both(&self) -> Option<(StopHandle, StopReason)> {
        let (handle, reason) = (self.handle.get()?, self.asked.get()?);
        (!self.taken.swap(true, Ordering::SeqCst)).then(|| (Arc::clone(handle), *reason))
    }
}

impl Job {
    /// What the output of its attempt can be told by, where nothing else was said.
    pub fn fingerprint(&self, result: Option<&str>) -> Option<String> {
        let wanted = self.def.fingerprint == Some(Fingerprint::Result);
        wanted.then(|| fingerprint_of(result.unwrap_or("null")))
    }

    /// Milliseconds since it was started.
    pub fn elapsed_ms(&self) -> i64 {
        self.clock.now().millis_since(self.attempt.started_at)
    }

    /// What its item fills: names and values.
    pub fn item_values(&self) -> Vec<(&str, Value)> {
        let item = self.def.map.as_ref().zip(self.item.as_ref());
        item.map(|(map, item)| map.values(&item.value())).unwrap_or_default()
    }

    /// Its name in its dag: `load`, or `load[3]` of an item.
    pub fn name(&self) -> String {
        match &self.item {
            Some(item) => format!("{}[{}]", self.def.name, item.map_index),
            None => self.def.name.clone(),
        }
    }

    /// `dag.task`, or `dag.task[3]` of an item.
    pub fn key(&self) -> String {
        format!("{}.{}", self.run.dag, self.name())
    }
}
