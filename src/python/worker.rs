//! The threads that run handlers are Python's own: they take calls from a `Worker`, make them, and
//! say how they ended.
//!
//! No frame of ours lies below a handler. A thread that comes back from native code while the
//! interpreter goes down is ended by Python where it stands, which only Python's frames survive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use super::arguments;
use super::context::Context;
use super::host::{Handler, PythonHost, cpu_ns, hook, returned};
use super::stop::{Interruptible, PyStop};
use crate::runtime::{Finished, Hiring, Job, Next, Worker as Hired};

/// What a thread of `mainspring._host.work` takes its calls from.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Worker {
    hiring: Hiring,
    hired: Mutex<Option<Arc<Hired>>>,
}

/// What is to be called: the call itself, function, keyword arguments, context, and whether
/// another thread should be made.
type Given<'py> = (Py<Call>, Py<PyAny>, Bound<'py, PyDict>, Py<Context>, bool);

impl Worker {
    /// A worker for a thread that is about to begin.
    pub fn new(hiring: Hiring) -> Self {
        Worker { hiring, hired: Mutex::default() }
    }

    fn hired(&self) -> Arc<Hired> {
        let mut hired = self.hired.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(hired.get_or_insert_with(|| Arc::new(self.hiring.hire())))
    }

    /// Everything that a call needs; none where it is not made on this thread.
    fn given<'py>(
        &self,
        py: Python<'py>,
        job: &Arc<Job>,
        worker: &Arc<Hired>,
        host: &PythonHost,
        alone: bool,
    ) -> PyResult<Option<Given<'py>>> {
        let Some(handler) = host.handler(&job.def.name) else {
            let why = format!("this process has no handler for {}", job.key());
            worker.report(job, Finished::failed("HANDLER", "HandlerMissing", why));
            return Ok(None);
        };
        if let Err(finished) = arguments::fill(py, job) {
            worker.report(job, *finished);
            return Ok(None);
        }
        let context = Py::new(py, Context::new(Arc::clone(job)))?;
        let converters = handler.converters.as_ref().map(|converters| converters.bind(py));
        let arguments = arguments::keyword(py, job, &context, converters)?;
        if handler.is_async {
            self.start_async(py, job, worker, handler, &arguments, context)?;
            return Ok(None);
        }
        let thread = Arc::new(Interruptible::here(py)?);
        let call = Call::new(job, Way::Thread(thread, Arc::clone(worker)), cpu_ns(py));
        Ok(Some((Py::new(py, call)?, handler.call.clone_ref(py), arguments, context, alone)))
    }

    fn start_async(
        &self,
        py: Python<'_>,
        job: &Arc<Job>,
        worker: &Hired,
        handler: &Handler,
        arguments: &Bound<'_, PyDict>,
        context: Py<Context>,
    ) -> PyResult<()> {
        static START: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let call = Call::new(job, Way::Elsewhere(self.hiring.clone()), None);
        let start = hook(py, &START, "start_async")?;
        let task = start.call1((&handler.call, arguments, context, call))?;
        worker.stoppable(job, Arc::new(PyStop::Coroutine(task.unbind())));
        Ok(())
    }
}

#[pymethods]
impl Worker {
    /// The next call of this thread; None when it should end. Waits with the interpreter free.
    fn next<'py>(&self, py: Python<'py>) -> Option<Given<'py>> {
        let worker = self.hired();
        let mut lonely = false;
        loop {
            match worker.next() {
                Next::Job(job, alone) => {
                    lonely |= alone;
                    let Some(host) = job.host.downcast_ref::<PythonHost>() else { continue };
                    let Some(_inside) = worker.inside() else { continue };
                    match self.given(py, &job, &worker, host, lonely) {
                        Ok(Some(given)) => return Some(given),
                        Ok(None) => {}
                        Err(error) => worker.report(&job, host.failed(py, &job, error, None)),
                    }
                }
                Next::Nothing => {
                    if std::mem::take(&mut lonely) {
                        // What was to be left to another thread was done at once.
                        worker.nobody_came();
                    }
                    py.detach(|| worker.wait());
                }
                Next::Closed => {
                    // Whoever closes the session waits for threads to let go of their workers.
                    self.hired.lock().unwrap_or_else(PoisonError::into_inner).take();
                    return None;
                }
            }
        }
    }

    /// A worker for one more thread.
    fn another(&self) -> Worker {
        Worker::new(self.hiring.clone())
    }

    /// One more thread could not be made.
    fn nobody_came(&self) {
        self.hired().nobody_came();
    }
}

/// One call of a handler, until its end is known.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Call {
    job: Arc<Job>,
    way: Way,
    began: Option<i64>,
    told: AtomicBool,
}

enum Way {
    /// On a thread, by its worker.
    Thread(Arc<Interruptible>, Arc<Hired>),
    /// On an event loop.
    Elsewhere(Hiring),
}

impl Call {
    fn new(job: &Arc<Job>, way: Way, began: Option<i64>) -> Self {
        Call { job: Arc::clone(job), way, began, told: AtomicBool::new(false) }
    }

    /// Tells the end, once. The thread is first taken out of reach of stops.
    fn end(
        &self,
        py: Python<'_>,
        finished: impl FnOnce(&PythonHost, Option<i64>) -> Finished,
    ) -> PyResult<()> {
        let _inside = match &self.way {
            Way::Thread(thread, worker) => {
                // Without it the interpreter may be going down: no call of ours may be on the
                // stack when it ends this thread.
                let Some(inside) = worker.inside() else { return Ok(()) };
                thread.leave(py)?;
                Some(inside)
            }
            Way::Elsewhere(_) => None,
        };
        if self.told.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let Some(host) = self.job.host.downcast_ref::<PythonHost>() else { return Ok(()) };
        let spent = self.began.zip(cpu_ns(py)).map(|(from, to)| (to - from) / 1_000_000);
        match &self.way {
            Way::Thread(_, worker) => worker.report(&self.job, finished(host, spent)),
            Way::Elsewhere(hiring) => hiring.ended(&self.job, finished(host, None)),
        }
        Ok(())
    }
}

#[pymethods]
impl Call {
    /// The thread is where a stop may reach it: inside the clause that catches what is raised.
    fn begin(&self) {
        if let Way::Thread(thread, worker) = &self.way {
            worker.stoppable(&self.job, Arc::new(PyStop::Thread(Arc::clone(thread))));
        }
    }

    /// The handler returned this.
    fn returned(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.end(py, |_, spent| returned(&self.job, value, spent))
    }

    /// The handler raised this.
    fn failed(&self, py: Python<'_>, exception: Bound<'_, PyAny>) -> PyResult<()> {
        let error = PyErr::from_value(exception);
        self.end(py, |host, spent| host.failed(py, &self.job, error, spent))
    }

    /// A coroutine ended: `call(value, None)` or `call(None, exception)`.
    fn __call__(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        exception: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if exception.is_none() { self.returned(py, value) } else { self.failed(py, exception) }
    }
}
