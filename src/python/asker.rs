//! Asking a scheduler that is another process, for Python.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Serialize;

use super::{errors, values};
use crate::model::{Ask, Date, Instant, Problem, ReleaseAsk};
use crate::runtime::{Asker as Core, TaskVersions, host_name};

/// Asks whoever decides for a database; neither decides nor runs anything itself.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Asker {
    pub(super) core: Core,
}

#[derive(Serialize)]
struct LeaderFace {
    host: String,
    pid: i64,
    role: String,
    version: String,
    started_at: Instant,
    heartbeat_at: Instant,
    alive: bool,
    epoch: i64,
}

#[derive(Serialize)]
struct ReleasedFace {
    changed: bool,
    #[serde(flatten)]
    found: TaskVersions,
}

#[pymethods]
impl Asker {
    #[new]
    #[pyo3(signature = (database, *, busy_wait_s = 120.0, files = None))]
    fn new(
        py: Python<'_>,
        database: PathBuf,
        busy_wait_s: f64,
        files: Option<PathBuf>,
    ) -> PyResult<Asker> {
        let wait = Duration::try_from_secs_f64(busy_wait_s).unwrap_or_default();
        let core = py.detach(|| Core::open(&database, files.as_deref(), host_name(), wait));
        Ok(Asker { core: core.map_err(errors::session)? })
    }

    /// Who schedules for this database, or did so last.
    fn leader<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let leader = py.detach(|| self.core.leader()).map_err(errors::session)?;
        let face = leader.map(|leader| LeaderFace {
            host: leader.node.host,
            pid: leader.node.pid,
            role: leader.node.role,
            version: leader.node.version,
            started_at: leader.node.started_at,
            heartbeat_at: leader.node.heartbeat_at,
            alive: leader.alive,
            epoch: leader.epoch,
        });
        values::face(py, &face)
    }

    /// Asks; gives the number of the request. `later`: the next scheduler may decide it.
    #[pyo3(signature = (ask, by = None, later = false))]
    fn ask(
        &self,
        py: Python<'_>,
        ask: &Bound<'_, PyAny>,
        by: Option<&str>,
        later: bool,
    ) -> PyResult<i64> {
        let ask = values::to_json(ask)?;
        let ask: Ask = serde_json::from_value(ask).map_err(|error| {
            errors::spec(Problem::new("bad_request", "request", error.to_string()).into())
        })?;
        py.detach(|| self.core.ask(&ask, by, later)).map_err(errors::session)
    }

    /// All versions of a task, and what was decided about them.
    fn versions<'py>(&self, py: Python<'py>, task: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.core.versions(task)).map_err(errors::session)?;
        values::face(py, &found)
    }

    /// Decides which version the next runs of a task take.
    #[pyo3(signature = (task, ask, by = None))]
    fn release<'py>(
        &self,
        py: Python<'py>,
        task: &str,
        ask: &Bound<'_, PyAny>,
        by: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ask = values::to_json(ask)?;
        let ask: ReleaseAsk = serde_json::from_value(ask).map_err(|error| {
            errors::spec(Problem::new("bad_release", task, error.to_string()).into())
        })?;
        let (found, changed) =
            py.detach(|| self.core.release(task, ask, by)).map_err(errors::session)?;
        values::face(py, &ReleasedFace { changed, found })
    }

    /// Disables a task, or enables it again; whether that was otherwise before.
    #[pyo3(signature = (task, enabled, by = None))]
    fn enable(
        &self,
        py: Python<'_>,
        task: &str,
        enabled: bool,
        by: Option<&str>,
    ) -> PyResult<bool> {
        py.detach(|| self.core.enable(task, enabled, by)).map_err(errors::session)
    }

    /// Declares an asset ready for a business date, ISO text; whether that was not known before.
    #[pyo3(signature = (asset, biz_date, by = None))]
    fn declare(
        &self,
        py: Python<'_>,
        asset: &str,
        biz_date: &str,
        by: Option<&str>,
    ) -> PyResult<bool> {
        let date = Date::parse(biz_date).map_err(|problem| errors::spec(problem.into()))?;
        py.detach(|| self.core.declare(asset, date, by)).map_err(errors::session)
    }

    /// The answer to a request: {"run", "refused"}, both optional; nothing while it is open.
    fn answer<'py>(&self, py: Python<'py>, id: i64) -> PyResult<Bound<'py, PyAny>> {
        let answer = py.detach(|| self.core.answer(id)).map_err(errors::session)?;
        values::face(py, &answer)
    }
}
