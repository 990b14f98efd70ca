//! Which versions of a task there are, and which of them its next runs take: looked up and decided
//! in the database, like a registration. Schedulers see it by the revision of the dag.

use serde::Serialize;

use super::asking::Asker;
use super::refusal::SessionError;
use super::session::lock;
use crate::graph::Nearest;
use crate::model::{ReleaseAsk, ReleaseRow, VersionRow};

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskVersions {
    /// Its whole key.
    pub task: String,
    /// All its versions, the newest first.
    pub versions: Vec<VersionRow>,
    /// What was decided about them, the newest first.
    pub releases: Vec<ReleaseRow>,
}

impl Asker {
    /// All versions of a task, and what was decided about them.
    ///
    /// # Errors
    /// `NotFound` for a task that there is not; `Store`.
    pub fn versions(&self, task: &str) -> Result<TaskVersions, SessionError> {
        let mut store = lock(&self.store);
        let versions = store.task_versions(task)?;
        let key = task.split_once('.').map_or(task, |(dag, _)| dag);
        let dag = store.dag(key)?;
        match dag {
            Some(dag) if !versions.is_empty() => {
                let mut releases = store.releases(dag.id)?;
                releases.retain(|row| row.task == task);
                Ok(TaskVersions { task: task.to_owned(), versions, releases })
            }
            Some(dag) => {
                let names: Vec<String> =
                    dag.tasks.iter().map(|known| format!("{key}.{}", known.def.name)).collect();
                Err(missing("task", task, &names))
            }
            None => Err(missing("dag", key, &store.dag_keys()?)),
        }
    }

    /// Decides which version the next runs of a task take; how it stands then, and whether that
    /// was otherwise before.
    ///
    /// # Errors
    /// `NotFound` for a task that there is not; `Spec` with what is wrong; `Store`.
    pub fn release(
        &self,
        task: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
    ) -> Result<(TaskVersions, bool), SessionError> {
        // Says which task was meant, if there is no such one.
        self.versions(task)?;
        let changed = lock(&self.store).release(task, ask, by, self.clock.now())?;
        Ok((self.versions(task)?, changed))
    }
}

/// There is no such dag or task.
pub(super) fn missing(what: &str, name: &str, known: &[String]) -> SessionError {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = match Nearest::new(&known).find(name) {
        Some(near) => format!("did you mean {near}?"),
        None if what == "task" && known.len() <= 10 => format!("there are: {}", known.join(", ")),
        None => "`mainspring list` lists what there is; a task is named DAG.TASK".to_owned(),
    };
    SessionError::NotFound(format!("{what} {name} is not registered\n  hint: {hint}"))
}
