//! The thinnest floor: convert in, let go of the interpreter, call, convert out. No rule of its own.

mod arguments;
mod asker;
mod backfill;
mod backfills;
mod business;
mod calendar;
mod columns;
mod context;
mod errors;
mod faces;
mod history;
mod host;
mod manual_clock;
#[cfg(unix)]
mod process;
mod session;
mod stop;
mod timetable;
mod values;
mod worker;

use pyo3::prelude::*;

/// The native core. Plain values in, plain values out; the public API is `mainspring` itself.
#[pymodule(gil_used = false)]
mod _mainspring {
    #[pymodule_export]
    use super::asker::Asker;
    #[pymodule_export]
    use super::backfill::{BackfillPlan, plan_backfill};
    #[pymodule_export]
    use super::backfills::{
        apply_backfill, ask_backfill, cells_of_backfill, list_backfills, live_of_backfill,
        read_backfill, steer_backfill, wait_backfill,
    };
    #[pymodule_export]
    use super::business::Calendar;
    #[pymodule_export]
    use super::calendar::{Rule, first_instant, instants_of, render, wall_at};
    #[pymodule_export]
    use super::columns::Columns;
    #[pymodule_export]
    use super::context::Context;
    #[pymodule_export]
    use super::history::History;
    #[pymodule_export]
    use super::manual_clock::ManualClock;
    #[cfg(unix)]
    #[pymodule_export]
    use super::process::{
        ProcessEnd, ProcessOrder, ProcessWorker, report_end, stop_reason, supervise,
    };
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::timetable::Timetable;
    #[pymodule_export]
    use super::worker::{Call, Worker};
    #[pymodule_export]
    use super::{
        check_dag, check_pairs, check_text, duration_ms, log_uri, migrate, preview, shown, states,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// The checked and resolved definition of a dag; raises SpecError with every problem.
#[pyfunction]
fn check_dag<'py>(py: Python<'py>, spec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let spec = values::to_json(spec)?;
    let def = py.detach(|| crate::engine::check_definition(&spec)).map_err(errors::spec)?;
    values::face(py, &def)
}

/// Raises SpecError where edges to other dags and periods never hold, or seldom.
#[pyfunction]
fn check_pairs(py: Python<'_>, definitions: &Bound<'_, PyAny>, now: i64) -> PyResult<()> {
    let dags: Vec<crate::model::DagDef> = serde_json::from_value(values::to_json(definitions)?)
        .map_err(|error| {
            let problem = crate::model::Problem::new("bad_definition", "check", error.to_string());
            errors::spec(problem.into())
        })?;
    let problems: Vec<_> = py.detach(|| {
        let mut find = |key: &str| dags.iter().find(|dag| dag.key == key).cloned();
        let now = crate::model::Instant(now);
        dags.iter().flat_map(|dag| crate::engine::check_pairs(dag, &mut find, now)).collect()
    });
    if problems.is_empty() { Ok(()) } else { Err(errors::spec(crate::model::SpecError(problems))) }
}

/// The key of a dag that is found good, and its specification as JSON text: what is sent from
/// process to process, without making objects of all that was resolved.
#[pyfunction]
fn check_text(py: Python<'_>, spec: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let spec = values::to_json(spec)?;
    py.detach(|| {
        let def = crate::engine::check_definition(&spec)?;
        Ok((def.key, spec.to_string()))
    })
    .map_err(errors::spec)
}

/// Where the output of an attempt is brought to, below a prefix.
#[pyfunction]
#[pyo3(signature = (prefix, dag, biz_date, run, made, task, map_index, attempt_no))]
#[allow(clippy::too_many_arguments, reason = "what a place is made of")]
fn log_uri(
    prefix: &str,
    dag: &str,
    biz_date: &str,
    run: i64,
    made: i64,
    task: &str,
    map_index: Option<u32>,
    attempt_no: u32,
) -> String {
    let task = (task, map_index);
    crate::runtime::LogPlace { dag, biz_date, run: (run, made), task, attempt_no }.below(prefix)
}

/// What a run would get: its times, and each text of a task before and after.
#[pyfunction]
fn preview<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyAny>,
    task: Option<&str>,
    request: &Bound<'py, pyo3::types::PyDict>,
    now: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let spec = values::to_json(spec)?;
    let found = py.detach(|| crate::engine::check_definition(&spec)).map_err(errors::spec)?;
    let request = session::read_request(&found.key, request)?;
    let asked = crate::engine::Asked {
        nominal_at: request.nominal_at,
        biz_date: request.biz_date,
        interval: request.interval,
    };
    let now = crate::model::Instant(now);
    let preview = crate::engine::preview(&found, task, asked, &request.params, now);
    let preview = preview.map_err(errors::spec)?;
    values::face(py, &faces::PreviewFace::new(&found, preview))
}

/// The place of a database as it may be shown: without a password.
#[pyfunction]
fn shown(database: &str) -> String {
    crate::store::shown(database)
}

/// Bring a database to the newest schema: (schema before, schema now).
#[pyfunction]
fn migrate(py: Python<'_>, database: std::path::PathBuf) -> PyResult<(i64, i64)> {
    py.detach(|| crate::store::migrate(&database)).map_err(errors::store)
}

/// A duration such as `90m` or `PT1H` in milliseconds.
#[pyfunction]
fn duration_ms(text: &str) -> PyResult<i64> {
    crate::model::duration::parse(text).map_err(|problem| errors::spec(problem.into()))
}

/// Every state: (word, code, whether it is final).
#[pyfunction]
fn states() -> Vec<(&'static str, u8, bool)> {
    use crate::model::State;
    State::ALL.iter().map(|state| (state.as_str(), state.code(), state.is_final())).collect()
}
