//! Reads what was remembered; never changes it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use super::columns::{Columns, Making};
use super::faces::{AttemptFace, EntryFace, RunFace, task_runs};
use super::{errors, values};
use crate::model::{Date, Instant, NodeRow, RunId, SpecError, TaskRunId};
use crate::runtime::{Clock, Files, host_name, is_alive};
use crate::store::{
    self, AttemptFilter, HistoryAsk, Level, OpenOptions, RunFilter, RunSummary, SqlStore, SqlValue,
    StoreError, StoredResult, known_words,
};

/// Reads what was remembered; never changes it.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct History {
    store: Mutex<Box<dyn SqlStore>>,
    files: Files,
    clock: Clock,
    host: String,
}

impl History {
    /// Asks the store without holding the interpreter.
    pub(super) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut dyn SqlStore) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            question(&mut **store)
        })
        .map_err(errors::store)
    }

    /// Whether a process lives.
    pub(super) fn is_alive(&self, node: &NodeRow) -> bool {
        is_alive(&self.files, node, &self.host, self.clock.now())
    }

    fn face(&self, summary: RunSummary) -> RunFace {
        let now = self.clock.now();
        let alive =
            summary.node.as_ref().is_some_and(|node| is_alive(&self.files, node, &self.host, now));
        RunFace::new(summary, alive)
    }
}

#[pymethods]
impl History {
    #[new]
    #[pyo3(signature = (database, *, busy_wait_s = 120.0, files = None))]
    fn new(
        py: Python<'_>,
        database: PathBuf,
        busy_wait_s: f64,
        files: Option<PathBuf>,
    ) -> PyResult<Self> {
        let busy_wait = Duration::try_from_secs_f64(busy_wait_s).unwrap_or_default();
        let store = py
            .detach(|| {
                let options = OpenOptions { busy_wait, make: false, ..OpenOptions::default() };
                store::open(&database, options)
            })
            .map_err(errors::store)?;
        Ok(History {
            store: Mutex::new(store),
            files: Files::of(&database, files.as_deref()),
            clock: Clock::machine(),
            host: host_name(),
        })
    }

    #[pyo3(signature = (*, dag=None, states=None, biz_date_from=None, biz_date_to=None, limit=None))]
    fn runs<'py>(
        &self,
        py: Python<'py>,
        dag: Option<String>,
        states: Option<Vec<String>>,
        biz_date_from: Option<&str>,
        biz_date_to: Option<&str>,
        limit: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // INTERRUPTED is RUNNING in the table, with nobody behind it.
        let asked = states.unwrap_or_default();
        let mut in_table = Vec::new();
        for state in &asked {
            let word = if state == "INTERRUPTED" { "RUNNING" } else { state.as_str() };
            let state = word.parse().map_err(|e: crate::model::UnknownWord| {
                pyo3::exceptions::PyValueError::new_err(e.to_string())
            })?;
            in_table.push(state);
        }
        let date = |text: Option<&str>| {
            text.map(Date::parse).transpose().map_err(|p| errors::spec(SpecError::from(p)))
        };
        let filter = RunFilter {
            dag,
            id: None,
            states: in_table,
            biz_date_from: date(biz_date_from)?,
            biz_date_to: date(biz_date_to)?,
            limit,
        };
        let found = self.ask(py, |store| store.runs(&filter))?;
        let mut faces: Vec<RunFace> = found.into_iter().map(|summary| self.face(summary)).collect();
        if !asked.is_empty() {
            faces.retain(|face| asked.iter().any(|state| state == face.state()));
        }
        values::face(py, &faces)
    }

    /// The history as columns: all of a level, or what the filters leave of it.
    #[pyo3(signature = (level, *, columns=None, dag=None, tasks=Vec::new(), words=Vec::new(),
        triggers=Vec::new(), biz_date_from=None, biz_date_to=None, begin=None, end=None,
        limit=None))]
    #[allow(clippy::too_many_arguments, reason = "each is a keyword of the question")]
    fn columns(
        &self,
        py: Python<'_>,
        level: &str,
        columns: Option<Vec<String>>,
        dag: Option<String>,
        tasks: Vec<String>,
        words: Vec<String>,
        triggers: Vec<String>,
        biz_date_from: Option<&str>,
        biz_date_to: Option<&str>,
        begin: Option<i64>,
        end: Option<i64>,
        limit: Option<u32>,
    ) -> PyResult<Columns> {
        let level = Level::parse(level).map_err(|problem| errors::spec(problem.into()))?;
        let columns = match columns {
            None => level.columns().iter().collect(),
            Some(names) => level.choose(&names).map_err(errors::spec)?,
        };
        let place = if level == Level::Attempt { "outcome" } else { "state" };
        let date = |text: Option<&str>| {
            text.map(Date::parse).transpose().map_err(|p| errors::spec(SpecError::from(p)))
        };
        let mut ask = HistoryAsk {
            level,
            dag,
            tasks,
            words: known_words(place, &words, &level.words()).map_err(errors::spec)?,
            triggers: known_words("trigger", &triggers, &HistoryAsk::triggers())
                .map_err(errors::spec)?,
            biz_date_from: date(biz_date_from)?,
            biz_date_to: date(biz_date_to)?,
            from: begin.map(Instant),
            to: end.map(Instant),
            limit,
            gone: Vec::new(),
            columns,
        };
        let mut making = Making::new(&ask.columns);
        let taken = self.ask(py, |store| {
            if level == Level::Run {
                let now = self.clock.now();
                let open = store.open_scopes()?.into_iter();
                let gone = open.filter(|(_, node)| {
                    !node.as_ref().is_some_and(|node| is_alive(&self.files, node, &self.host, now))
                });
                ask.gone = gone.map(|(scope, _)| scope).collect();
            }
            store::read_history(store, &ask, &mut making)
        })?;
        taken?;
        py.detach(|| making.finish()).map_err(errors::store)
    }

    fn run<'py>(&self, py: Python<'py>, run_id: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let filter = RunFilter { id: Some(RunId(run_id)), ..RunFilter::default() };
        let found = self.ask(py, |store| store.runs(&filter))?;
        found.into_iter().next().map(|summary| values::face(py, &self.face(summary))).transpose()
    }

    fn task_runs<'py>(&self, py: Python<'py>, run_id: i64) -> PyResult<Bound<'py, PyAny>> {
        let views = self.ask(py, |store| store.task_runs(RunId(run_id)))?;
        values::face(py, &task_runs(views))
    }

    #[pyo3(signature = (*, run_id=None, task_run_id=None))]
    fn attempts<'py>(
        &self,
        py: Python<'py>,
        run_id: Option<i64>,
        task_run_id: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = match (run_id, task_run_id) {
            (Some(run), None) => AttemptFilter::Run(RunId(run)),
            (None, Some(task_run)) => AttemptFilter::TaskRun(TaskRunId(task_run)),
            _ => {
                let why = "give either run_id or task_run_id";
                return Err(pyo3::exceptions::PyTypeError::new_err(why));
            }
        };
        let rows = self.ask(py, |store| store.attempts(&filter))?;
        let faces: Vec<AttemptFace> = rows.into_iter().map(AttemptFace::from).collect();
        values::face(py, &faces)
    }

    fn journal<'py>(&self, py: Python<'py>, run_id: i64) -> PyResult<Bound<'py, PyAny>> {
        let run = RunId(run_id);
        let (rows, stored) =
            self.ask(py, |store| Ok((store.journal(run)?, store.stored_run(run)?)))?;
        let mut faces: Vec<EntryFace> = Vec::new();
        if let Some(stored) = stored {
            for row in rows {
                let entries = crate::model::journal::unpack(stored.row.first_task_run_id, &row)
                    .map_err(|error| errors::store(StoreError::Other(error.to_string())))?;
                faces.extend(entries.into_iter().map(EntryFace::from));
            }
        }
        values::face(py, &faces)
    }

    fn result<'py>(&self, py: Python<'py>, task_run_id: i64) -> PyResult<Bound<'py, PyAny>> {
        match self.ask(py, |store| store.result(TaskRunId(task_run_id)))? {
            Some(StoredResult::Text(text)) => values::text_to_python(py, &text),
            Some(StoredResult::File(path)) => {
                let text = py.detach(|| std::fs::read_to_string(&path)).map_err(|error| {
                    let why =
                        format!("the result is in a file that cannot be read: {path}: {error}");
                    errors::store(StoreError::Other(why))
                })?;
                values::text_to_python(py, &text)
            }
            None => Ok(py.None().into_bound(py)),
        }
    }

    fn dags(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |store| store.dag_keys())
    }

    fn dag<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(found) = self.ask(py, |store| store.dag(key))? else { return Ok(None) };
        let mut def = found.def.clone();
        def.tasks = found.tasks.iter().map(|task| (*task.def).clone()).collect();
        def.schedules = found.schedules.iter().map(|(_, schedule)| schedule.clone()).collect();
        let versions: Vec<u32> = found.tasks.iter().map(|task| task.version).collect();
        let face = values::face(py, &def)?;
        face.set_item("revision", found.revision)?;
        face.set_item("versions", versions)?;
        Ok(Some(face))
    }

    fn pools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pools = self.ask(py, |store| store.pools())?;
        values::face(py, &pools)
    }

    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let limits = self.ask(py, |store| store.limits())?;
        values::face(py, &limits)
    }

    fn ageing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ageing = self.ask(py, |store| store.ageing())?;
        values::face(py, &ageing)
    }

    /// Answers one SQL statement that only reads: (column names, rows).
    #[pyo3(signature = (text, parameters = Vec::new()))]
    fn sql<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        parameters: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
        let cells = parameters.iter().map(cell).collect::<PyResult<Vec<_>>>()?;
        let table = self.ask(py, |store| store.ask(text, &cells))?;
        Ok((table.columns, values::face(py, &table.rows)?))
    }

    /// Dags and open runs that a scheduler cannot read, and why.
    fn unreadable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.ask(py, |store| crate::runtime::unreadable(store))?;
        values::face(py, &found)
    }

    /// Invariants that do not hold; empty when all do.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let violations = self.ask(py, |store| crate::runtime::verify(store))?;
        values::face(py, &violations)
    }
}

/// A parameter of an SQL statement.
fn cell(value: &Bound<'_, PyAny>) -> PyResult<SqlValue> {
    Ok(match values::to_json(value)? {
        serde_json::Value::Null => SqlValue::Null,
        serde_json::Value::Bool(flag) => SqlValue::Integer(flag.into()),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => SqlValue::Integer(whole),
            None => SqlValue::Real(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => SqlValue::Text(text),
        other => {
            let why = format!("{other} cannot be a parameter of a statement");
            return Err(pyo3::exceptions::PyTypeError::new_err(why));
        }
    })
}
