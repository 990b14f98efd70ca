//! What a running attempt knows about itself.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use super::values;
use crate::model::{Date, Instant};
use crate::runtime::{Job, Stream};

/// What a running attempt knows about itself; made by the core, one an attempt.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Context {
    job: Arc<Job>,
}

impl Context {
    /// The context of a job.
    pub fn new(job: Arc<Job>) -> Self {
        Context { job }
    }
}

#[pymethods]
impl Context {
    #[getter]
    fn run_id(&self) -> i64 {
        self.job.run.id.0
    }

    #[getter]
    fn dag(&self) -> &str {
        &self.job.run.dag
    }

    #[getter]
    fn task(&self) -> &str {
        &self.job.def.name
    }

    #[getter]
    fn map_index(&self) -> Option<u32> {
        self.job.item.as_ref().map(|item| item.map_index)
    }

    #[getter]
    fn attempt(&self) -> u32 {
        self.job.attempt.attempt_no
    }

    #[getter]
    fn token(&self) -> i64 {
        self.job.attempt.token.0
    }

    #[getter]
    fn biz_date<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        date(py, self.job.run.biz_date)
    }

    #[getter]
    fn nominal_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.job.run.nominal_at, &self.job.run.timezone)
    }

    #[getter]
    fn interval_start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.job.run.interval.0, &self.job.run.timezone)
    }

    #[getter]
    fn interval_end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.job.run.interval.1, &self.job.run.timezone)
    }

    #[getter]
    fn timezone(&self) -> &str {
        &self.job.run.timezone
    }

    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut params = self.job.run.params.clone();
        let item = self.job.item_values().into_iter();
        params.extend(item.map(|(name, value)| (name.to_owned(), value)));
        params.extend(self.job.params().iter().map(|(name, value)| (name.clone(), value.clone())));
        values::face(py, &params)
    }

    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::face(py, self.job.config())
    }

    #[getter]
    fn dedup_key(&self) -> Option<&str> {
        self.job.dedup_key()
    }

    /// Append output to the attempt's log; `stream` is "out" or "err".
    fn write(&self, text: &Bound<'_, PyString>, stream: &str) {
        let stream = if stream == "err" { Stream::Err } else { Stream::Out };
        self.job.log.write(text.to_string_lossy().as_bytes(), stream);
    }

    /// Say what the output of the attempt can be told by.
    fn say_fingerprint(&self, text: &str) {
        self.job.said.say(text.to_owned());
    }

    fn __repr__(&self) -> String {
        format!(
            "Context(run_id={}, task={:?}, biz_date={}, attempt={})",
            self.job.run.id,
            self.job.key(),
            self.job.run.biz_date,
            self.job.attempt.attempt_no
        )
    }
}

/// A `datetime.date`.
pub fn date<'py>(py: Python<'py>, date: Date) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = || py.import("datetime")?.getattr("date").map(Bound::unbind);
    CLASS.get_or_try_init(py, made)?.bind(py).call1(date.ymd())
}

/// An aware `datetime.datetime` in a zone.
pub fn datetime<'py>(py: Python<'py>, at: Instant, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = || py.import("mainspring._time")?.getattr("aware").map(Bound::unbind);
    MAKE.get_or_try_init(py, made)?.bind(py).call1((at.0, zone))
}
