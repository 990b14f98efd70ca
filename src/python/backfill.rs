//! The plan of a backfill as Python sees it: it stays here, and what is looked at is handed out.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde::Serialize;

use super::asker::Asker;
use super::session::Session;
use super::{errors, values};
use crate::model::{BackfillAsk, BackfillTask, Estimate, Planned, Problem, TaskSet, Why};

/// So many conflicts are handed out; how many there are is a number.
const CONFLICTS: usize = 1_000;

/// A plan that was computed, or read back.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct BackfillPlan {
    inner: Arc<Planned>,
}

impl BackfillPlan {
    /// The plan itself.
    pub fn planned(&self) -> &Arc<Planned> {
        &self.inner
    }
}

#[derive(Serialize)]
struct HeadFace<'p> {
    ask: &'p BackfillAsk,
    tasks: &'p [BackfillTask],
    versions: &'p [u32],
    zones: Vec<&'p str>,
    sets: &'p [TaskSet],
    hash: &'p str,
    runs: usize,
    cells: usize,
    counts: Vec<(&'static str, u64)>,
    conflicts: Vec<ConflictFace<'p>>,
    conflict_count: usize,
    estimate: &'p Estimate,
    made_at: i64,
}

#[derive(Serialize)]
struct ConflictFace<'p> {
    task: &'p str,
    dag: &'p str,
    biz_date: String,
    nominal_at: i64,
    run: Option<i64>,
    backfill: Option<i64>,
}

/// A cell: dag, task, business date, instant if it has one, and what is said of it.
type CellFace = (u32, String, Option<i64>, &'static str);

#[pymethods]
impl BackfillPlan {
    /// Read a plan that was saved.
    #[staticmethod]
    fn load(py: Python<'_>, text: &str) -> PyResult<BackfillPlan> {
        let read = py.detach(|| serde_json::from_str::<Planned>(text));
        let inner = read.map_err(|error| {
            let problem = Problem::new("bad_plan", "plan", format!("this is no plan: {error}"));
            errors::spec(problem.hint("plan.to_json() writes one").into())
        })?;
        Ok(BackfillPlan { inner: Arc::new(inner) })
    }

    /// All of it, as JSON text.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| serde_json::to_string(&*self.inner)).map_err(|error| {
            errors::session(crate::runtime::SessionError::Internal(error.to_string()))
        })
    }

    /// What it is about, without its cells and runs.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let planned = &*self.inner;
        let plan = &planned.plan;
        let conflicts = planned.conflicts.iter().take(CONFLICTS).filter_map(|conflict| {
            let task = plan.tasks.get(conflict.task as usize)?;
            Some(ConflictFace {
                task: &task.name,
                dag: &task.dag,
                biz_date: conflict.biz_date.to_string(),
                nominal_at: conflict.nominal_at.0,
                run: conflict.run.map(|run| run.0),
                backfill: conflict.backfill.map(|backfill| backfill.0),
            })
        });
        let mut zones = vec!["UTC"; plan.tasks.len()];
        for grid in &planned.grids {
            for row in &grid.rows {
                if let Some(zone) = zones.get_mut(row.task as usize) {
                    *zone = &grid.timezone;
                }
            }
        }
        let counts: Vec<(&str, u64)> =
            planned.counts().iter().map(|(why, count)| (why.as_str(), *count)).collect();
        let cells = counts.iter().map(|(_, count)| *count as usize).sum();
        values::face(
            py,
            &HeadFace {
                ask: &plan.ask,
                tasks: &plan.tasks,
                versions: &planned.versions,
                zones,
                sets: &plan.sets,
                hash: &plan.hash,
                runs: plan.runs.len(),
                cells,
                counts,
                conflicts: conflicts.collect(),
                conflict_count: planned.conflicts.len(),
                estimate: &planned.estimate,
                made_at: planned.made_at.0,
            },
        )
    }

    #[getter]
    fn hash(&self) -> &str {
        &self.inner.plan.hash
    }

    /// Runs from one number up to another: (number of its set, group, date, instant, interval).
    fn runs(&self, start: usize, stop: usize) -> Vec<(u32, u32, String, i64, i64, i64)> {
        let runs = self.inner.plan.runs.iter().skip(start).take(stop.saturating_sub(start));
        runs.map(|run| {
            let (start, end) = run.interval;
            let date = run.biz_date.to_string();
            (run.set, run.group, date, run.nominal_at.0, start.0, end.0)
        })
        .collect()
    }

    /// Cells in the order of tasks and instants, so many after so many: number of the task, date,
    /// instant, and what is said of it. `only` names what is wanted.
    #[pyo3(signature = (skip = 0, limit = usize::MAX, only = None))]
    fn cells(
        &self,
        py: Python<'_>,
        skip: usize,
        limit: usize,
        only: Option<Vec<String>>,
    ) -> Vec<CellFace> {
        py.detach(|| {
            let wanted = |why: &Why| {
                only.as_ref().is_none_or(|only| only.iter().any(|word| word == why.as_str()))
            };
            let grids = self.inner.grids.iter();
            let rows = grids.flat_map(|grid| grid.rows.iter().map(move |row| (grid, row)));
            let mut rows: Vec<_> = rows.collect();
            rows.sort_by_key(|(_, row)| row.task);
            let cells = rows.into_iter().flat_map(|(grid, row)| {
                grid.columns
                    .iter()
                    .zip(&row.why)
                    .map(move |(column, code)| (row.task, column, code))
            });
            let cells = cells.filter_map(|(task, column, code)| {
                let why = Why::from_code(*code).filter(wanted)?;
                Some((task, column, why))
            });
            cells
                .skip(skip)
                .take(limit)
                .map(|(task, column, why)| {
                    let at = column.nominal_at.map(|at| at.0);
                    (task, column.biz_date.to_string(), at, why.as_str())
                })
                .collect()
        })
    }

    /// The grids: columns as (instant or nothing, date), rows as (number of the task, letters).
    #[allow(clippy::type_complexity, reason = "plain tuples for Python")]
    fn grids(&self) -> Vec<(Vec<(Option<i64>, String)>, Vec<(u32, String)>)> {
        let letter = |code: &u8| Why::from_code(*code).map_or('_', Why::letter);
        let grids = self.inner.grids.iter().map(|grid| {
            let columns = grid.columns.iter();
            let columns =
                columns.map(|at| (at.nominal_at.map(|at| at.0), at.biz_date.to_string())).collect();
            let rows = grid.rows.iter().map(|row| (row.task, row.why.iter().map(letter).collect()));
            (columns, rows.collect())
        });
        grids.collect()
    }

    /// What has changed from this plan to one that was computed later.
    fn diff<'py>(
        &self,
        py: Python<'py>,
        later: &Bound<'py, BackfillPlan>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let later = Arc::clone(&later.get().inner);
        let diff = py.detach(|| self.inner.diff(&later));
        values::face(py, &diff)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<BackfillPlan>().map(|other| Arc::clone(&other.get().inner));
        other.is_ok_and(|other| other.plan == self.inner.plan)
    }

    fn __hash__(&self) -> u64 {
        let digits = self.inner.plan.hash.get(..16).unwrap_or("0");
        u64::from_str_radix(digits, 16).unwrap_or(0)
    }

    fn __len__(&self) -> usize {
        let counts = self.inner.counts();
        counts.iter().filter(|(why, _)| why.is_in()).map(|(_, count)| *count as usize).sum()
    }
}

/// The plan of a backfill; nothing is started or written.
#[pyfunction]
pub fn plan_backfill(
    py: Python<'_>,
    asked: &Bound<'_, PyAny>,
    ask: &Bound<'_, PyAny>,
) -> PyResult<BackfillPlan> {
    let ask: BackfillAsk = serde_json::from_value(values::to_json(ask)?).map_err(|error| {
        errors::spec(Problem::new("bad_request", "backfill", error.to_string()).into())
    })?;
    let planned = if let Ok(session) = asked.cast::<Session>() {
        let session = session.get();
        py.detach(|| session.core.plan(&ask))
    } else if let Ok(asker) = asked.cast::<Asker>() {
        let asker = asker.get();
        py.detach(|| asker.core.plan(&ask))
    } else {
        return Err(PyTypeError::new_err("a session or an asker is asked for a plan"));
    };
    Ok(BackfillPlan { inner: Arc::new(planned.map_err(errors::session)?) })
}
