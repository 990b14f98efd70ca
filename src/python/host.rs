//! Python as a host of handlers: how they are called, and what their end is.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use super::arguments;
use super::context::Context;
use super::stop::{Interruptible, PyStop};
use super::values::{self, Unstorable};
use crate::model::{AttemptRecord, Outcome, StopReason};
use crate::runtime::{
    Called, Finished, HandlerHost, Interpreter, Job, RESULT_LIMIT, Reporter, Rest, StopHandle,
};

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
    fn enter(&self, body: &mut dyn FnMut(Rest<'_>)) {
        // None where the interpreter is going down: the thread must stay out then.
        let _ = Python::try_attach(|py| body(&|wait| py.detach(wait)));
    }

    fn stop(&self, handle: &StopHandle, reason: StopReason) {
        let Some(stop) = handle.downcast_ref::<PyStop>() else { return };
        // An attempt that cannot be asked is given up after its grace.
        let _ = Python::attach(|py| stop.ask(py, reason));
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

    fn start(
        &self,
        py: Python<'_>,
        job: &Arc<Job>,
        reporter: &Reporter,
        stoppable: &dyn Fn(StopHandle),
        handler: &Handler,
    ) -> PyResult<Called> {
        let context = Py::new(py, Context::new(Arc::clone(job)))?;
        let converters = handler.converters.as_ref().map(|converters| converters.bind(py));
        let arguments = arguments::keyword(py, job, &context, converters)?;
        if handler.is_async {
            static START: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let done = Done {
                job: Arc::clone(job),
                reporter: reporter.clone(),
                told: AtomicBool::new(false),
            };
            let task = hook(py, &START, "start_async")?.call1((
                &handler.call,
                &arguments,
                context,
                done,
            ))?;
            stoppable(Arc::new(PyStop::Coroutine(task.unbind())));
            return Ok(Called::Later);
        }
        static CALL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let call = hook(py, &CALL, "call")?;
        let thread = Arc::new(Interruptible::here(py)?);
        stoppable(Arc::new(PyStop::Thread(Arc::clone(&thread))));
        let began = cpu_ns(py);
        let returned = call.call1((&handler.call, &arguments, context));
        let cpu_ms = began.zip(cpu_ns(py)).map(|(from, to)| (to - from) / 1_000_000);
        let left = thread.leave(py);
        Ok(Called::Done(match returned.and_then(|value| left.map(|()| value)) {
            Ok(value) => self.returned(job, &value, cpu_ms),
            Err(error) => self.failed(py, job, error, cpu_ms),
        }))
    }

    fn returned(&self, job: &Job, value: &Bound<'_, PyAny>, cpu_ms: Option<i64>) -> Finished {
        let record = AttemptRecord { cpu_ms, ..record_now(job) };
        if value.is_none() {
            // What a downstream is given for no result is None as well.
            return Finished { outcome: Outcome::Success, result: None, record };
        }
        let Unstorable(why) = match values::to_text(value, RESULT_LIMIT) {
            Ok(text) => {
                return Finished { outcome: Outcome::Success, result: Some(text.into()), record };
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
        Finished { outcome: Outcome::Failed, result: None, record }
    }

    fn failed(&self, py: Python<'_>, job: &Job, error: PyErr, cpu_ms: Option<i64>) -> Finished {
        static DESCRIBE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        type Description = (String, String, String, String);
        let exception = error.into_value(py);
        let described = hook(py, &DESCRIBE, "describe")
            .and_then(|describe| describe.call1((&exception,)))
            .and_then(|words| words.extract::<Description>());
        let (code, kind, message, traceback) = described.unwrap_or_else(|_| {
            let kind = "an exception that cannot be described".to_owned();
            ("ERROR".to_owned(), kind.clone(), kind, String::new())
        });
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.insert(job.def.name.clone(), exception.into_any());
        drop(raised);
        let record = AttemptRecord {
            cpu_ms,
            error_code: Some(code),
            error_type: Some(kind),
            error: Some(message),
            traceback: (!traceback.is_empty()).then_some(traceback),
            ..record_now(job)
        };
        Finished { outcome: Outcome::Failed, result: None, record }
    }
}

impl HandlerHost for PythonHost {
    fn call(&self, job: &Arc<Job>, reporter: &Reporter, stoppable: &dyn Fn(StopHandle)) -> Called {
        let Some(handler) = self.handlers.get(&job.def.name) else {
            let why = format!("this process has no handler for {}", job.key());
            return Called::Done(Finished::failed("HANDLER", "HandlerMissing", why));
        };
        Python::attach(|py| {
            self.start(py, job, reporter, stoppable, handler)
                .unwrap_or_else(|error| Called::Done(self.failed(py, job, error, None)))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Told how a coroutine ended: `done(value, None)` or `done(None, exception)`, once.
#[pyclass(frozen)]
struct Done {
    job: Arc<Job>,
    reporter: Reporter,
    told: AtomicBool,
}

#[pymethods]
impl Done {
    fn __call__(&self, py: Python<'_>, value: Bound<'_, PyAny>, exception: Bound<'_, PyAny>) {
        if self.told.swap(true, Ordering::SeqCst) {
            return;
        }
        let Some(host) = self.job.host.as_any().downcast_ref::<PythonHost>() else { return };
        let finished = if exception.is_none() {
            host.returned(&self.job, &value, None)
        } else {
            host.failed(py, &self.job, PyErr::from_value(exception), None)
        };
        self.reporter.ended(&self.job, finished);
    }
}

fn record_now(job: &Job) -> AttemptRecord {
    AttemptRecord {
        duration_ms: job.elapsed_ms(),
        pid: Some(i64::from(std::process::id())),
        ..AttemptRecord::default()
    }
}

/// Processor time of this thread, where the platform counts it.
fn cpu_ns(py: Python<'_>) -> Option<i64> {
    static CLOCK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = || py.import("time")?.getattr("thread_time_ns").map(Bound::unbind);
    CLOCK.get_or_try_init(py, made).ok()?.bind(py).call0().ok()?.extract().ok()
}
