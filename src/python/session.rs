//! A session as Python sees it.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;

use super::host::{Handler, PythonHost, PythonInterpreter};
use super::manual_clock::ManualClock;
use super::worker::Worker;
use super::{errors, faces, values};
use crate::model::{DagDef, Date, Instant, Missed, Problem, RunId, SpecError, State};
#[cfg(unix)]
use crate::runtime::process::ProcessOptions;
use crate::runtime::{
    Clock, HandlerHost, Hosts, LOG_LIMIT, LogOptions, NewRunRequest, ProcessHost, Rerun,
    Session as Core, SessionOptions, Stub, StubPlan, host_name,
};

/// How often a waiting thread looks whether somebody pressed Ctrl-C.
pub(super) const SIGNAL_POLL: Duration = Duration::from_millis(50);

/// One process's way to decide: owns the driver thread and the threads that run handlers.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Session {
    pub(super) core: Core,
    hosts: Mutex<BTreeMap<RunId, Arc<PythonHost>>>,
    /// Of the clock, where that stands until it is moved.
    hand: Option<Arc<AtomicI64>>,
}

#[derive(Serialize)]
struct RegisteredFace {
    key: String,
    revision: i64,
    tasks: Vec<RegisteredTaskFace>,
}

#[derive(Serialize)]
struct RegisteredTaskFace {
    name: String,
    version: u32,
}

impl Session {
    fn hosts(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<PythonHost>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers who can tell the exceptions of a run, and forgets those of long ago.
    fn keep(&self, run: RunId, host: Option<Arc<PythonHost>>) {
        let Some(host) = host else { return };
        let mut hosts = self.hosts();
        hosts.insert(run, host);
        while hosts.len() > 64 {
            hosts.pop_first();
        }
    }
}

/// Who called a dag's handlers before, each with the instant from which on.
type Older<'py> = Vec<(i64, Bound<'py, PyAny>)>;

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (
        database, *, role, slots = 32, busy_wait_s = 120.0, leads = None, clock = None,
        durable = true, logs = None, log_limit = None, files = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "by name, from Python")]
    fn new(
        py: Python<'_>,
        database: PathBuf,
        role: String,
        slots: u32,
        busy_wait_s: f64,
        leads: Option<String>,
        clock: Option<Py<ManualClock>>,
        durable: bool,
        logs: Option<String>,
        log_limit: Option<u64>,
        files: Option<PathBuf>,
    ) -> PyResult<Self> {
        let hand = clock.as_ref().map(|clock| Arc::clone(&clock.get().hand));
        let options = SessionOptions {
            database,
            files,
            role,
            host: host_name(),
            slots,
            busy_wait: Duration::try_from_secs_f64(busy_wait_s).unwrap_or_default(),
            clock: clock.map_or_else(Clock::machine, |clock| clock.get().clock.clone()),
            leads,
            durable,
            logs: LogOptions {
                prefix: logs.map(Into::into),
                limit: log_limit.unwrap_or(LOG_LIMIT),
            },
        };
        let core = py
            .detach(|| Core::open(options, Arc::new(PythonInterpreter)))
            .map_err(errors::session)?;
        let worker = Worker::new(core.hiring());
        py.import("mainspring._host")?.call_method1("start_thread", (worker,))?;
        Ok(Session { core, hosts: Mutex::default(), hand })
    }

    #[getter]
    fn database(&self) -> String {
        self.core.database().to_string_lossy().into_owned()
    }

    /// Check and store definitions.
    fn register<'py>(
        &self,
        py: Python<'py>,
        specs: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let specs = specs.iter().map(values::to_json).collect::<PyResult<Vec<_>>>()?;
        let registered = py.detach(|| {
            let mut defs: Vec<DagDef> = Vec::with_capacity(specs.len());
            let mut problems = Vec::new();
            for spec in &specs {
                match crate::engine::check_definition(spec) {
                    Ok(def) => defs.push(def),
                    Err(SpecError(found)) => problems.extend(found),
                }
            }
            if !problems.is_empty() {
                return Err(SpecError(problems).into());
            }
            self.core.register(&defs)
        });
        let faces: Vec<RegisteredFace> = registered
            .map_err(errors::session)?
            .into_iter()
            .map(|dag| RegisteredFace {
                key: dag.def.key,
                revision: dag.revision,
                tasks: dag
                    .tasks
                    .iter()
                    .map(|task| RegisteredTaskFace {
                        name: task.def.name.clone(),
                        version: task.version,
                    })
                    .collect(),
            })
            .collect();
        values::face(py, &faces)
    }

    /// From now on handlers in files run in worker processes. Only the first call counts.
    #[cfg(unix)]
    #[pyo3(signature = (supervisor, worker, *, workers, max_attempts = None, max_rss_kb = None,
                        idle_s = None, start_s = None))]
    #[allow(clippy::too_many_arguments, reason = "named by whoever calls it from Python")]
    fn use_processes(
        &self,
        supervisor: Vec<OsString>,
        worker: Vec<OsString>,
        workers: u32,
        max_attempts: Option<u32>,
        max_rss_kb: Option<u64>,
        idle_s: Option<f64>,
        start_s: Option<f64>,
    ) {
        let usual = ProcessOptions::new(supervisor, worker, workers);
        let seconds = |given: Option<f64>| given.and_then(|s| Duration::try_from_secs_f64(s).ok());
        self.core.use_processes(ProcessOptions {
            max_attempts: max_attempts.unwrap_or(usual.max_attempts),
            max_rss_kb: max_rss_kb.unwrap_or(usual.max_rss_kb),
            idle: seconds(idle_s).unwrap_or(usual.idle),
            start: seconds(start_s).unwrap_or(usual.start),
            ..usual
        });
    }

    /// Make a run of a registered dag and start it; durable when this returns. `handlers` are
    /// functions by task, or (dag, file, version): worker processes find them in that file.
    fn submit(
        &self,
        py: Python<'_>,
        dag: &str,
        handlers: &Bound<'_, PyAny>,
        request: &Bound<'_, PyDict>,
    ) -> PyResult<i64> {
        let (for_run, host) = read_host(handlers)?;
        let request = read_request(dag, request)?;
        let mut interrupted = None;
        let mut go_on = || {
            interrupted = Python::attach(|py| py.check_signals()).err();
            interrupted.is_none()
        };
        let made = py.detach(|| self.core.submit_while(dag, for_run, request, &mut go_on));
        let Some(run) = made.map_err(errors::session)? else {
            return Err(interrupted.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
        };
        self.keep(run, host);
        Ok(run.0)
    }

    /// Take up a run whose process is gone; what succeeded does not run again.
    fn resume(&self, py: Python<'_>, run_id: i64, handlers: &Bound<'_, PyAny>) -> PyResult<()> {
        let (for_run, host) = read_host(handlers)?;
        py.detach(|| self.core.resume(RunId(run_id), for_run)).map_err(errors::session)?;
        self.keep(RunId(run_id), host);
        Ok(())
    }

    /// Run again what failed, or these tasks, or these and all downstream of them.
    #[pyo3(signature = (run_id, handlers, tasks = None, downstream = false))]
    fn rerun(
        &self,
        py: Python<'_>,
        run_id: i64,
        handlers: &Bound<'_, PyAny>,
        tasks: Option<Vec<String>>,
        downstream: bool,
    ) -> PyResult<()> {
        let (for_run, host) = read_host(handlers)?;
        let what = Rerun { tasks, downstream };
        py.detach(|| self.core.rerun(RunId(run_id), for_run, &what)).map_err(errors::session)?;
        self.keep(RunId(run_id), host);
        Ok(())
    }

    /// Wait until the run cannot move; True then, False at the timeout. Ctrl-C raises.
    #[pyo3(signature = (run_id, timeout = None))]
    fn wait(&self, py: Python<'_>, run_id: i64, timeout: Option<f64>) -> PyResult<bool> {
        // A run that this process does not drive has nobody here to wait for.
        let Some(watch) = self.core.watch(RunId(run_id)) else { return Ok(true) };
        let mut left =
            timeout.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        loop {
            let step = left.map_or(SIGNAL_POLL, |left| left.min(SIGNAL_POLL));
            if py.detach(|| watch.wait(step)) {
                return Ok(true);
            }
            py.check_signals()?;
            if let Some(rest) = left.as_mut() {
                *rest = rest.saturating_sub(step);
                if rest.is_zero() {
                    return Ok(false);
                }
            }
        }
    }

    /// Ask a run, or some of its tasks, to stop.
    #[pyo3(signature = (run_id, tasks = None, grace = None))]
    fn cancel(
        &self,
        py: Python<'_>,
        run_id: i64,
        tasks: Option<Vec<String>>,
        grace: Option<f64>,
    ) -> PyResult<()> {
        let grace_ms = grace.map(|seconds| (seconds * 1000.0) as i64);
        py.detach(|| self.core.cancel(RunId(run_id), tasks.as_deref(), grace_ms))
            .map_err(errors::session)
    }

    /// Say a person's word at a gate of a run that is driven here; durable when this returns.
    #[pyo3(signature = (run_id, task, reject = false, note = None, by = None))]
    fn approve(
        &self,
        py: Python<'_>,
        run_id: i64,
        task: &str,
        reject: bool,
        note: Option<String>,
        by: Option<String>,
    ) -> PyResult<()> {
        py.detach(|| self.core.approve(RunId(run_id), task, reject, note, by))
            .map_err(errors::session)
    }

    /// How a run stands after the last commit.
    fn progress<'py>(&self, py: Python<'py>, run_id: i64) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let Some(watch) = self.core.watch(RunId(run_id)) else { return Ok(dict) };
        let status = watch.status();
        let counts = PyDict::new(py);
        let mut total = 0;
        for state in State::ALL {
            let count = status.count(*state);
            total += count;
            if count > 0 {
                counts.set_item(state.as_str(), count)?;
            }
        }
        dict.set_item("state", status.state.as_str())?;
        dict.set_item("counts", counts)?;
        dict.set_item("total", total)?;
        dict.set_item("running", status.running)?;
        dict.set_item("awaited", status.awaited)?;
        dict.set_item("stalled", status.stalled)?;
        dict.set_item("lost", status.lost)?;
        Ok(dict)
    }

    /// The author's own exception of the newest attempt that failed in this process.
    fn exception(&self, py: Python<'_>, run_id: i64, task: &str) -> Option<Py<PyAny>> {
        let host = self.hosts().get(&RunId(run_id)).cloned();
        host.and_then(|host| host.exception(py, task))
    }

    /// Why a task run is where it is.
    fn explain(&self, py: Python<'_>, run_id: i64, task: &str) -> PyResult<String> {
        py.detach(|| self.core.explain(RunId(run_id), task)).map_err(errors::session)
    }

    /// Fire the schedules of registered dags from now on: pairs of key and handlers. `older` has,
    /// by key, the handlers of runs made before an instant, the oldest first.
    #[pyo3(signature = (dags, older = None))]
    fn serve(
        &self,
        py: Python<'_>,
        dags: Vec<(String, Bound<'_, PyAny>)>,
        older: Option<BTreeMap<String, Older<'_>>>,
    ) -> PyResult<()> {
        let older = older.unwrap_or_default();
        let mut served = Vec::with_capacity(dags.len());
        for (key, handlers) in dags {
            let mut hosts = Hosts::from(read_host(&handlers)?.0);
            for (until, handlers) in older.get(&key).into_iter().flatten() {
                hosts.older.push((Instant(*until), read_host(handlers)?.0));
            }
            served.push((key, hosts));
        }
        py.detach(|| self.core.serve(served)).map_err(errors::session)
    }

    /// Forget dags whose files are gone; what is open of them goes on.
    fn remove(&self, py: Python<'_>, dags: Vec<String>) -> PyResult<()> {
        py.detach(|| self.core.remove(&dags)).map_err(errors::session)
    }

    /// Pause the schedules of a dag, or one of them, or let them go on.
    #[pyo3(signature = (dag, paused, schedule = None, missed = None))]
    fn pause(
        &self,
        py: Python<'_>,
        dag: &str,
        paused: bool,
        schedule: Option<&str>,
        missed: Option<&str>,
    ) -> PyResult<()> {
        let missed = missed.map(read_missed).transpose()?;
        py.detach(|| self.core.pause(dag, schedule, paused, missed)).map_err(errors::session)
    }

    /// Call these handlers no more; say in their place what stubs say. `others` is for all tasks
    /// that are not named.
    #[pyo3(signature = (tasks, others = None))]
    fn stub(
        &self,
        tasks: BTreeMap<String, Bound<'_, PyDict>>,
        others: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let tasks = tasks.iter().map(|(key, stub)| Ok((key.clone(), read_stub(stub)?)));
        let tasks = tasks.collect::<PyResult<_>>()?;
        let others = others.as_ref().map(read_stub).transpose()?;
        self.core.stub(StubPlan { others, tasks }).map_err(errors::session)
    }

    /// Move the clock that stands to an instant, in steps: to each at which something happens.
    fn advance(&self, py: Python<'_>, to: i64) -> PyResult<()> {
        let Some(hand) = &self.hand else {
            return Err(PyValueError::new_err("the clock of this session is the machine's"));
        };
        let mut interrupted = None;
        let mut go_on = || {
            interrupted = Python::attach(|py| py.check_signals()).err();
            interrupted.is_none()
        };
        py.detach(|| self.core.advance(hand, Instant(to), &mut go_on)).map_err(errors::session)?;
        interrupted.map_or(Ok(()), Err)
    }

    /// Start nothing more; what is live goes on.
    fn drain(&self) -> PyResult<()> {
        self.core.drain().map_err(errors::session)
    }

    /// How much is going on: live attempts, stuck ones, open runs, the next fire.
    fn load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let load = py.detach(|| self.core.load()).map_err(errors::session)?;
        let dict = PyDict::new(py);
        dict.set_item("live", load.live)?;
        dict.set_item("stuck", load.stuck)?;
        dict.set_item("runs", load.runs)?;
        dict.set_item("next_fire", load.next_fire.map(|at| at.0))?;
        Ok(dict)
    }

    /// What was done since this was asked last, the oldest first.
    fn news<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::face(py, &self.core.news())
    }

    /// A dag's schedules with how far they have come.
    fn schedules<'py>(&self, py: Python<'py>, dag: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.core.schedules(dag)).map_err(errors::session)?;
        values::face(py, &found.iter().map(faces::ScheduleFace::of).collect::<Vec<_>>())
    }

    /// Fires of a dag that made no run, newest first, at most so many records.
    #[pyo3(signature = (dag, limit = 1000))]
    fn skips<'py>(&self, py: Python<'py>, dag: &str, limit: u32) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.core.skips(dag, limit)).map_err(errors::session)?;
        values::face(py, &found.iter().map(faces::SkipFace::of).collect::<Vec<_>>())
    }

    /// Make a named pool or change its size.
    fn set_pool(&self, py: Python<'_>, name: &str, slots: u32) -> PyResult<()> {
        py.detach(|| self.core.set_pool(name, slots)).map_err(errors::session)
    }

    /// Make a limit or change its size.
    fn set_limit(&self, py: Python<'_>, name: &str, slots: u32) -> PyResult<()> {
        py.detach(|| self.core.set_limit(name, slots)).map_err(errors::session)
    }

    /// Let the queue of a pool age: a wait of so many milliseconds makes up for one class; None is
    /// strict order. Without a pool: of all pools that do not say, in this process.
    fn set_ageing(&self, py: Python<'_>, pool: Option<&str>, step_ms: Option<i64>) -> PyResult<()> {
        py.detach(|| self.core.set_ageing(pool, step_ms)).map_err(errors::session)
    }

    /// Stop: live attempts are interrupted, threads joined. Safe to call twice.
    #[pyo3(signature = (grace = 1.0, at_most = None))]
    fn close(&self, py: Python<'_>, grace: f64, at_most: Option<f64>) {
        let at_most = at_most.map(|s| Duration::try_from_secs_f64(s).unwrap_or_default());
        py.detach(|| self.core.close((grace * 1000.0) as i64, at_most));
    }

    fn __repr__(&self) -> String {
        format!("Session({:?})", crate::store::shown(&self.database()))
    }
}

/// Who runs handlers: this process, which has them by task name, or processes that find them in
/// (dag, file, version).
pub(super) fn read_host(
    given: &Bound<'_, PyAny>,
) -> PyResult<(HandlerHost, Option<Arc<PythonHost>>)> {
    if let Ok(handlers) = given.cast::<PyDict>() {
        let host = Arc::new(PythonHost::new(read_handlers(handlers)?));
        return Ok((Arc::clone(&host) as HandlerHost, Some(host)));
    }
    let (dag, file, version) = given.extract()?;
    Ok((Arc::new(ProcessHost { file, dag, version }), None))
}

/// Task name to (callable, whether it is a coroutine function, converters).
fn read_handlers(handlers: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Handler>> {
    let mut read = BTreeMap::new();
    for (name, handler) in handlers.iter() {
        let handler = handler.cast::<PyTuple>()?;
        let converters = handler.get_item(2)?;
        let converters = match converters.is_none() {
            true => None,
            false => Some(converters.cast::<PyDict>()?.clone().unbind()),
        };
        let call = handler.get_item(0)?.unbind();
        let is_async = handler.get_item(1)?.extract()?;
        read.insert(name.extract()?, Handler { call, is_async, converters });
    }
    Ok(read)
}

fn read_missed(word: &str) -> PyResult<Missed> {
    word.parse().map_err(|_| {
        let problem = Problem::new("unknown_choice", "missed", format!("`{word}` is not a choice"));
        errors::spec(problem.hint("one of all, last, none").into())
    })
}

fn read_stub(stub: &Bound<'_, PyDict>) -> PyResult<Stub> {
    let mut read = Stub::default();
    for (key, value) in stub.iter() {
        match key.extract::<String>()?.as_str() {
            "takes_ms" => read.takes_ms = value.extract()?,
            "result" => read.result = Some(values::to_json(&value)?.to_string().into()),
            "fails" => read.fails = value.extract()?,
            "code" => read.code = value.extract()?,
            other => return Err(PyValueError::new_err(format!("unknown in a stub: {other}"))),
        }
    }
    Ok(read)
}

pub(super) fn read_request(dag: &str, request: &Bound<'_, PyDict>) -> PyResult<NewRunRequest> {
    let mut read = NewRunRequest::default();
    let mut interval = (None, None);
    for (key, value) in request.iter() {
        if value.is_none() {
            continue;
        }
        match key.extract::<String>()?.as_str() {
            "biz_date" => {
                let date = Date::parse(value.extract::<&str>()?).map_err(|problem| {
                    let place = format!("{dag}.biz_date");
                    errors::spec(SpecError::from(Problem { place, ..problem }))
                });
                read.biz_date = Some(date?);
            }
            "nominal_at" => read.nominal_at = Some(Instant(value.extract()?)),
            "interval_start" => interval.0 = Some(Instant(value.extract()?)),
            "interval_end" => interval.1 = Some(Instant(value.extract()?)),
            "params" => {
                if let serde_json::Value::Object(params) = values::to_json(&value)? {
                    read.params = params;
                }
            }
            "only" => read.only = Some(value.extract()?),
            "force" => read.force = value.extract()?,
            "requested_by" => read.requested_by = Some(value.extract()?),
            other => return Err(PyValueError::new_err(format!("unknown in a request: {other}"))),
        }
    }
    read.interval = interval.0.zip(interval.1);
    Ok(read)
}
