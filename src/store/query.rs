//! Questions and answers.

use serde::{Deserialize, Serialize};

use crate::model::{Date, LeaseRow, NodeRow, RunId, RunRow, RunState, TaskRunId, TaskRunRow};

/// Which runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only of this dag.
    pub dag: Option<String>,
    /// Only this one.
    pub id: Option<RunId>,
    /// Only in one of these states; empty is any.
    pub states: Vec<RunState>,
    /// Only of this business date or later.
    pub biz_date_from: Option<Date>,
    /// Only of this business date or earlier.
    pub biz_date_to: Option<Date>,
    /// At most so many; none is all.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its row.
    pub row: RunRow,
    /// How many of its task runs are in each state: (state, count), states without any left out.
    pub counts: Vec<(crate::model::State, u32)>,
    /// The process that decides for it, if it is known.
    pub node: Option<NodeRow>,
}

/// A run with all that is needed to go on with it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its row.
    pub row: RunRow,
    /// Whether all of it was asked to stop.
    pub cancel_requested: bool,
    /// Its task runs by id.
    pub task_runs: Vec<TaskRunRow>,
    /// Leases of its live attempts.
    pub leases: Vec<LeaseRow>,
}

/// A task run with the name of its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRunView {
    /// Its row.
    pub row: TaskRunRow,
    /// Name of its task inside the dag.
    pub task: String,
    /// Number of its version.
    pub version: u32,
}

/// Which attempts.
#[derive(Clone, Debug)]
pub enum AttemptFilter {
    /// Those of one task run.
    TaskRun(TaskRunId),
    /// Those of all task runs of a run.
    Run(RunId),
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Its id in the list of invariants, such as `L1`.
    pub invariant: &'static str,
    /// What it says.
    pub rule: &'static str,
    /// The rows that break it.
    pub rows: Vec<String>,
}
