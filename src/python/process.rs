//! Worker processes as Python sees them from within: what a worker is given and says, and the
//! whole life of a supervisor.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arguments;
use super::context::Context;
use super::host::{failed, record_now, returned};
use crate::model::{AttemptRecord, StopReason};
use crate::runtime::Finished;
use crate::runtime::process::{self, Ended, Order, WorkerLine};

/// A worker process's connection to the scheduler; there is one in such a process.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct ProcessWorker {
    line: WorkerLine,
}

#[pymethods]
impl ProcessWorker {
    /// Make this process a worker. Its standard input is the connection, and is empty afterwards.
    #[new]
    fn new() -> PyResult<Self> {
        Ok(ProcessWorker { line: WorkerLine::open()? })
    }

    /// Say that it has come up.
    fn ready(&self) -> PyResult<()> {
        Ok(self.line.ready()?)
    }

    /// The next attempt; None when there will be no more. Waits with the interpreter free.
    fn next(&self, py: Python<'_>) -> PyResult<Option<ProcessOrder>> {
        let order = py.detach(|| self.line.next())?;
        Ok(order.map(|order| ProcessOrder { order, finished: Mutex::default() }))
    }

    /// Tell the end of an attempt: what was spent, and whether the worker can go on.
    #[pyo3(signature = (order, *, cpu_ms, cpu_total_ms, max_rss_kb, imported, spoilt = None))]
    #[allow(clippy::too_many_arguments, reason = "named by whoever calls it from Python")]
    fn done(
        &self,
        py: Python<'_>,
        order: &ProcessOrder,
        cpu_ms: i64,
        cpu_total_ms: i64,
        max_rss_kb: i64,
        imported: bool,
        spoilt: Option<String>,
    ) -> PyResult<()> {
        let finished = order.finished.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut finished =
            finished.ok_or_else(|| PyRuntimeError::new_err("the attempt has not ended"))?;
        finished.record.cpu_ms = Some(cpu_ms);
        finished.record.max_rss_kb = Some(max_rss_kb);
        Ok(py.detach(|| self.line.done(finished, cpu_total_ms, imported, spoilt))?)
    }

    /// Whether this is the worker, and not what a handler made of it by forking.
    fn is_worker(&self) -> bool {
        self.line.is_worker()
    }

    /// Whether processes of handlers live on.
    fn left_processes(&self) -> bool {
        self.line.left_processes()
    }
}

/// One attempt that a worker process is to run.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct ProcessOrder {
    order: Order,
    finished: Mutex<Option<Finished>>,
}

impl ProcessOrder {
    fn end(&self, finished: Finished) {
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
    }
}

#[pymethods]
impl ProcessOrder {
    /// The file with the dag.
    #[getter]
    fn file(&self) -> OsString {
        self.order.host.file.as_os_str().to_owned()
    }

    /// Fingerprint of its content.
    #[getter]
    fn version(&self) -> &str {
        &self.order.host.version
    }

    /// The dag.
    #[getter]
    fn dag(&self) -> &str {
        &self.order.host.dag
    }

    /// The task.
    #[getter]
    fn task(&self) -> &str {
        &self.order.job.def.name
    }

    /// Names it among all attempts of this database: task run, number, token.
    #[getter]
    fn mark(&self) -> String {
        let attempt = &self.order.job.attempt;
        format!("{}.{}.{}", attempt.task_run_id, attempt.attempt_no, attempt.token.0)
    }

    /// The handler's arguments, and the context of the attempt.
    #[pyo3(signature = (converters = None))]
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        converters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyDict>, Py<Context>)> {
        if let Err(refused) = arguments::fill(py, &self.order.job) {
            let Finished { record, .. } = *refused;
            let text = |part: Option<String>| part.unwrap_or_default();
            let refused = py.import("mainspring._worker")?.getattr("Refused")?.call1((
                text(record.error_code),
                text(record.error_type),
                text(record.error),
                py.None(),
            ))?;
            return Err(PyErr::from_value(refused));
        }
        let context = Py::new(py, Context::new(self.order.job.clone()))?;
        let arguments = arguments::keyword(py, &self.order.job, &context, converters)?;
        Ok((arguments, context))
    }

    /// The handler returned this.
    fn returned(&self, value: &Bound<'_, PyAny>) {
        self.end(returned(&self.order.job, value, None));
    }

    /// The handler raised this.
    fn failed(&self, py: Python<'_>, exception: &Bound<'_, PyAny>) {
        self.end(failed(py, &self.order.job, exception, None));
    }

    /// There was no handler to be called.
    #[pyo3(signature = (code, kind, message, traceback = None))]
    fn refused(&self, code: &str, kind: &str, message: String, traceback: Option<String>) {
        let refused = Finished::failed(code, kind, message);
        let record = AttemptRecord { traceback, ..refused.record };
        let AttemptRecord { duration_ms, pid, params, .. } = record_now(&self.order.job);
        self.end(Finished {
            record: AttemptRecord { duration_ms, pid, params, ..record },
            ..refused
        });
    }
}

/// How a worker ended whose supervisor this process was.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct ProcessEnd {
    ended: Ended,
}

/// Live the life of a supervisor: start this worker, return when nothing of it is left.
#[pyfunction]
pub fn supervise(py: Python<'_>, worker: Vec<OsString>) -> PyResult<Option<ProcessEnd>> {
    let ended = py.detach(|| process::supervise(&worker))?;
    Ok(ended.map(|ended| ProcessEnd { ended }))
}

/// Tell the scheduler of it, and what was spent.
#[pyfunction]
pub fn report_end(end: &ProcessEnd, cpu_ms: i64, max_rss_kb: i64) -> PyResult<()> {
    Ok(process::report_end(end.ended, cpu_ms, max_rss_kb)?)
}

/// Why this worker is being ended: "timeout", "cancel"...; None where it is not.
#[pyfunction]
pub fn stop_reason() -> Option<&'static str> {
    process::stop_reason().map(StopReason::as_str)
}
