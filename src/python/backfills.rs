//! Backfills as Python sees them: applied, steered, waited for, and looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Serialize;

use super::asker::Asker;
use super::backfill::BackfillPlan;
use super::history::History;
use super::session::{SIGNAL_POLL, Session, read_host};
use super::{errors, values};
use crate::model::{Ask, BackfillAsk, BackfillId, BackfillTask, Problem, Steer};
use crate::runtime::HostsOf;
use crate::store::{BackfillSummary, StoreError};

/// What runs the handlers of each dag, as `Session.submit` takes it.
type Handlers<'py> = BTreeMap<String, Bound<'py, PyAny>>;

fn hosts(handlers: &Handlers<'_>) -> PyResult<HostsOf> {
    handlers.iter().map(|(dag, given)| Ok((dag.clone(), read_host(given)?.0))).collect()
}

fn read_steer(word: &str) -> PyResult<Steer> {
    word.parse().map_err(|_| {
        let text = format!("`{word}` is nothing that can be done about a backfill");
        let problem = Problem::new("unknown_choice", "steer", text);
        errors::spec(problem.hint("one of pause, resume, cancel, retry").into())
    })
}

/// Carry out a plan in this process; the id of the backfill, which is durable.
#[pyfunction]
#[pyo3(signature = (session, plan, handlers, by = None))]
pub fn apply_backfill(
    py: Python<'_>,
    session: &Session,
    plan: &BackfillPlan,
    handlers: Handlers<'_>,
    by: Option<String>,
) -> PyResult<i64> {
    let hosts = hosts(&handlers)?;
    let planned = std::sync::Arc::clone(plan.planned());
    let applied = py.detach(|| {
        session.core.refuse_old_plan(&planned.plan)?;
        session.core.apply_backfill(planned.plan.clone(), hosts, by)
    });
    applied.map(|id| id.0).map_err(errors::session)
}

/// Ask the scheduler to carry out a plan; the number of the request.
#[pyfunction]
#[pyo3(signature = (asker, plan, by = None))]
pub fn ask_backfill(
    py: Python<'_>,
    asker: &Asker,
    plan: &BackfillPlan,
    by: Option<&str>,
) -> PyResult<i64> {
    let ask = Ask::Backfill { plan: Box::new(plan.planned().plan.clone()) };
    py.detach(|| asker.core.ask(&ask, by, false)).map_err(errors::session)
}

/// Take up a backfill in this process, if it is not here, and do something about it.
#[pyfunction]
#[pyo3(signature = (session, backfill, handlers, steer = None, grace = None))]
pub fn steer_backfill(
    py: Python<'_>,
    session: &Session,
    backfill: i64,
    handlers: Handlers<'_>,
    steer: Option<&str>,
    grace: Option<f64>,
) -> PyResult<()> {
    let hosts = hosts(&handlers)?;
    let steer = steer.map(read_steer).transpose()?;
    let grace_ms = grace.map(|seconds| (seconds * 1000.0) as i64);
    py.detach(|| session.core.steer_backfill(BackfillId(backfill), hosts, steer, grace_ms))
        .map_err(errors::session)
}

/// Wait until a backfill of this process moves no more by itself; True then, False at the timeout.
/// Ctrl-C raises.
#[pyfunction]
#[pyo3(signature = (session, backfill, timeout = None))]
pub fn wait_backfill(
    py: Python<'_>,
    session: &Session,
    backfill: i64,
    timeout: Option<f64>,
) -> PyResult<bool> {
    // One that this process does not decide for has nobody here to wait for.
    let Some(watch) = session.core.backfill_watch(BackfillId(backfill)) else { return Ok(true) };
    let mut left = timeout.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
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

/// How many attempts of a backfill are live in this process.
#[pyfunction]
pub fn live_of_backfill(py: Python<'_>, session: &Session, backfill: i64) -> PyResult<usize> {
    py.detach(|| session.core.live_of_backfill(BackfillId(backfill))).map_err(errors::session)
}

#[derive(Serialize)]
struct SummaryFace {
    #[serde(flatten)]
    summary: BackfillSummary,
    pid: Option<i64>,
    host: Option<String>,
    alive: bool,
}

#[derive(Serialize)]
struct BackfillFace {
    ask: BackfillAsk,
    hash: String,
    tasks: Vec<BackfillTask>,
    sets: Vec<(String, Vec<u32>, String)>,
    runs: Vec<PlaceFace>,
}

/// Number of the set, date, instant, run, note, state of the run.
type PlaceFace = (u32, String, i64, Option<i64>, Option<String>, Option<&'static str>);

/// All backfills, the newest first.
#[pyfunction]
pub fn list_backfills<'py>(py: Python<'py>, history: &History) -> PyResult<Bound<'py, PyAny>> {
    let found = history.ask(py, |store| {
        let found = store.backfills()?;
        let mut nodes = Vec::with_capacity(found.len());
        for summary in found {
            let holder = store.holder(summary.scope_id)?;
            let node = holder.map(|lease| store.node(lease.node_id)).transpose()?.flatten();
            nodes.push((summary, node));
        }
        Ok(nodes)
    })?;
    let faces: Vec<SummaryFace> = found
        .into_iter()
        .map(|(summary, node)| SummaryFace {
            summary,
            pid: node.as_ref().map(|node| node.pid),
            host: node.as_ref().map(|node| node.host.clone()),
            alive: node.is_some_and(|node| history.is_alive(&node)),
        })
        .collect();
    values::face(py, &faces)
}

/// The plan of a backfill, and what became of each of its runs.
#[pyfunction]
pub fn read_backfill<'py>(
    py: Python<'py>,
    history: &History,
    backfill: i64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = history.ask(py, |store| store.backfill(BackfillId(backfill)))?;
    let Some(found) = found else { return Ok(None) };
    let plan = &found.row.plan;
    let sets = plan.sets.iter();
    let sets = sets.map(|set| (set.dag.clone(), set.tasks.clone(), set.timezone.clone()));
    let places = plan.runs.iter().zip(&found.places).map(|(run, (place, state))| {
        let date = run.biz_date.to_string();
        let (id, note) = (place.run_id.map(|run| run.0), place.note.clone());
        (run.set, date, run.nominal_at.0, id, note, state.map(|state| state.as_str()))
    });
    let face = BackfillFace {
        ask: plan.ask.clone(),
        hash: plan.hash.clone(),
        tasks: plan.tasks.clone(),
        sets: sets.collect(),
        runs: places.collect(),
    };
    values::face(py, &face).map(Some)
}

/// A cell: number of its run in the plan, id of the task, state and code.
type CellFace = (u32, i64, &'static str, Option<String>);

/// The cells of a backfill whose runs were made.
#[pyfunction]
pub fn cells_of_backfill(
    py: Python<'_>,
    history: &History,
    backfill: i64,
) -> PyResult<Vec<CellFace>> {
    let cells = history
        .ask(py, |store| -> Result<_, StoreError> { store.backfill_cells(BackfillId(backfill)) })?;
    let face = |cell: crate::store::BackfillCell| {
        (cell.ordinal, cell.task.0, cell.state.as_str(), cell.code)
    };
    Ok(cells.into_iter().map(face).collect())
}
