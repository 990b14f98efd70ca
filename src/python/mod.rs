//! The thinnest floor: convert in, let go of the interpreter, call, convert out. No rule of its own.

mod arguments;
mod business;
mod calendar;
mod context;
mod errors;
mod faces;
mod history;
mod host;
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
    use super::business::Calendar;
    #[pymodule_export]
    use super::calendar::{Rule, first_instant, instants_of, render, wall_at};
    #[pymodule_export]
    use super::context::Context;
    #[pymodule_export]
    use super::history::History;
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
    use super::{check_dag, migrate, states};

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

/// Bring a database to the newest schema: (schema before, schema now).
#[pyfunction]
fn migrate(py: Python<'_>, database: std::path::PathBuf) -> PyResult<(i64, i64)> {
    py.detach(|| crate::store::SqliteStore::migrate(&database)).map_err(errors::store)
}

/// Every state: (word, code, whether it is final).
#[pyfunction]
fn states() -> Vec<(&'static str, u8, bool)> {
    use crate::model::State;
    State::ALL.iter().map(|state| (state.as_str(), state.code(), state.is_final())).collect()
}
