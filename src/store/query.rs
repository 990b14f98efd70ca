//! Questions and answers.

use serde::{Deserialize, Serialize};

use std::sync::Arc;

use crate::model::{
    BizOffset, DagId, Date, Instant, LeaseRow, NodeRow, OffsetUnit, Period, RunId, RunRow,
    RunState, ScheduleDef, State, TaskId, TaskRunId, TaskRunRow,
};

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
    /// The type of its task.
    pub kind: String,
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

/// A task as edges of other runs look at it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamTask {
    /// The task.
    pub task: TaskId,
    /// Zone of its dag.
    pub timezone: String,
    /// From nominal to business dates where no schedule says.
    pub biz_offset: Option<BizOffset>,
    /// Schedules that fire it, those that were removed too, with all periods of their lives.
    pub schedules: Vec<(ScheduleDef, Vec<Period>)>,
    /// When it was registered first.
    pub since: Instant,
    /// Whether it, or its dag, was removed.
    pub removed: bool,
    /// Whether it looks if data is ready.
    pub is_probe: bool,
    /// The assets that it makes ready.
    pub produces: Vec<String>,
}

/// An edge of some task to another, from whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependentEdge {
    /// Who waits.
    pub task: TaskId,
    /// First period looked at.
    pub from: i32,
    /// Last period looked at.
    pub to: i32,
    /// Unit of both.
    pub unit: OffsetUnit,
}

/// What is asked of the ends of a task that a dag follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndsAsked {
    /// The task.
    pub task: TaskId,
    /// The dag that follows it.
    pub follower: DagId,
    /// Ends after this instant.
    pub since: Instant,
    /// Only of runs of which the journal says something after this entry; none is all. A store that
    /// does not number its entries gives all.
    pub after: Option<i64>,
}

/// Which runs of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunsAt {
    /// Those of a business date.
    Date(Date),
    /// Those of some instants.
    Fires(Vec<Instant>),
}

/// The newest run of an upstream for an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamRun {
    /// The run.
    pub run: RunId,
    /// The task run.
    pub task_run: TaskRunId,
    /// Its instant.
    pub nominal_at: Instant,
    /// Where it stands.
    pub state: State,
    /// Its code.
    pub code: Option<String>,
    /// What it is BLOCKED by.
    pub blocked_by: Option<TaskRunId>,
    /// Its result, if that is in the row.
    pub result: Option<Arc<str>>,
    /// Where a larger result is.
    pub result_uri: Option<String>,
    /// Its newest attempt.
    pub attempt_no: u32,
    /// Whether its output is that of the success before, as it has found itself.
    pub unchanged: bool,
    /// The run and the task run whose output its output is: its own, or those of the success before
    /// where it was left as it was.
    pub output: (RunId, TaskRunId),
}

impl UpstreamRun {
    /// It was left as it was: its output is that of the run before.
    pub(super) fn keep(&mut self, before: UpstreamRun) {
        self.result = before.result;
        self.result_uri = before.result_uri;
        self.attempt_no = before.attempt_no;
        self.output = before.output;
    }
}
