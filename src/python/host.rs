//! Python as a host of handlers: which there are, and what the end of a call means.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use super::stop::PyStop;
use super::values::{self, Unstorable};
use crate::model::{AttemptRecord, Outcome, StopReason};
use crate::runtime::{Finished, Interpreter, Job, RESULT_LIMIT, StopHandle};

/// A function of `mainspring._host`.
pub(super) fn hook<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let made = || py.import("mainspring._host")?.getattr(name).map(Bound::unbind);
    Ok(cell.get_or_try_init(py, made)?.bind(py).clone())
}

/// The interpreter of this process.
pub struct PythonInterpreter;

impl Interpreter for PythonInterpreter {
    fn stop(&self, handle: &StopHandle, reason: StopReason) {
        let Some(stop) = handle.downcast_ref::<PyStop>() else { return };
        // An attempt that cannot be asked is given up after its grace; nobody is asked any more
        // where the interpreter is going down.
        let _ = Python::try_attach(|py| stop.ask(py, reason));
    }
}

/// One task's handler.
pub struct Handler {
    /// The function.
    pub call: Py<PyAny>,
    /// Whether it is a coroutine function.
    pub is_async: bool,
    /// What turns plain values into the author's types, by argument name.
    pub converters: Option<Py<PyDict>>,
}

/// Exceptions of items that are kept as objects.
const KEPT: usize = 256;

/// The handlers of one run, by task name, and the exceptions they raised.
pub struct PythonHost {
    handlers: BTreeMap<String, Handler>,
    raised: Mutex<BTreeMap<String, Py<PyAny>>>,
}

impl PythonHost {
    /// A host of these handlers.
    pub fn new(handlers: BTreeMap<String, Handler>) -> Self {
        PythonHost { handlers, raised: Mutex::new(BTreeMap::new()) }
    }

    /// The author's own exception of a task's newest failure.
    pub fn exception(&self, py: Python<'_>, task: &str) -> Option<Py<PyAny>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get(task).map(|exception| exception.clone_ref(py))
    }

    /// The handler of a task.
    pub fn handler(&self, task: &str) -> Option<&Handler> {
        self.handlers.get(task)
    }

    /// How an attempt ended whose handler raised; the exception is kept.
    pub fn failed(&self, py: Python<'_>, job: &Job, error: PyErr, cpu_ms: Option<i64>) -> Finished {
        let exception = error.into_value(py);
        let finished = failed(py, job, exception.bind(py), cpu_ms);
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        // Of thousands of items the first ones say it all.
        if job.item.is_none() || raised.len() < KEPT {
            raised.insert(job.name(), exception.into_any());
        }
        finished
    }
}

/// How an attempt ended whose handler returned. A check that says nothing true goes on.
pub fn returned(job: &Job, value: &Bound<'_, PyAny>, cpu_ms: Option<i64>) -> Finished {
    let record = AttemptRecord { cpu_ms, ..record_now(job) };
    if job.def.is_probe() {
        match value.is_truthy() {
            Ok(true) => {}
            Ok(false) => return Finished::not_ready(record),
            // A table, say, of which nobody knows whether it means yes.
            Err(error) => {
                let exception = error.into_value(value.py());
                return failed(value.py(), job, exception.bind(value.py()), cpu_ms);
            }
        }
    }
    let done =
        |outcome, result| Finished { outcome, result, record: record.clone(), not_ready: false };
    if value.is_none() {
        // What a downstream is given for no result is None as well.
        return done(Outcome::Success, None);
    }
    let Unstorable(why) = match values::to_text(value, RESULT_LIMIT) {
        Ok(text) => {
            return done(Outcome::Success, Some(text.into()));
        }
        Err(unstorable) => unstorable,
    };
    let kind = values::type_name(value);
    let error = format!("{} ran, but its result ({kind}) cannot be stored: {why}", job.key());
    let record = AttemptRecord {
        error_code: Some("RESULT".into()),
        error_type: Some("ResultError".into()),
        error: Some(error),
        ..record
    };
    Finished { outcome: Outcome::Failed, result: None, record, not_ready: false }
}

/// How an attempt ended whose handler raised.
pub fn failed(
    py: Python<'_>,
    job: &Job,
    exception: &Bound<'_, PyAny>,
    cpu_ms: Option<i64>,
) -> Finished {
    static DESCRIBE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    type Description = (String, String, String, String, Vec<String>);
    let described = hook(py, &DESCRIBE, "describe")
        .and_then(|describe| describe.call1((exception,)))
        .and_then(|words| words.extract::<Description>());
    let (code, kind, message, traceback, kinds) = described.unwrap_or_else(|_| {
        let kind = "an exception that cannot be described".to_owned();
        ("ERROR".to_owned(), kind.clone(), kind, String::new(), Vec::new())
    });
    let record = AttemptRecord {
        cpu_ms,
        error_code: Some(code),
        error_type: Some(kind),
        error_kinds: kinds,
        error: Some(message),
        traceback: (!traceback.is_empty()).then_some(traceback),
        ..record_now(job)
    };
    Finished { outcome: Outcome::Failed, result: None, record, not_ready: false }
}

/// What there is to be said of an attempt that ends now.
pub(super) fn record_now(job: &Job) -> AttemptRecord {
    AttemptRecord {
        duration_ms: job.elapsed_ms(),
        pid: Some(i64::from(std::process::id())),
        params: job.kept().map(str::to_owned),
        fingerprint: job.said.get(),
        ..AttemptRecord::default()
    }
}

/// Processor time of this thread, where the platform counts it.
pub fn cpu_ns(py: Python<'_>) -> Option<i64> {
    static CLOCK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = || py.import("time")?.getattr("thread_time_ns").map(Bound::unbind);
    CLOCK.get_or_try_init(py, made).ok()?.bind(py).call0().ok()?.extract().ok()
}
