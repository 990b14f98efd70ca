//! What a run is to do: the versions of its tasks and the edges between them.

use std::sync::Arc;

use crate::graph::Graph;
use crate::model::{DagId, EdgeKind, TaskDef, TaskId, TaskVersionId};

/// The tasks of a run and the edges among them; shared by all runs of the same versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The dag.
    pub dag_id: DagId,
    /// Its key.
    pub dag: String,
    /// One entry a task; a task run's index in its run is its task's index here.
    pub tasks: Vec<PlannedTask>,
    /// Who waits for whom, in indexes of `tasks`.
    pub graph: Graph,
    /// Kind of each edge, by the edge id that `graph` carries.
    pub edge_kinds: Vec<EdgeKind>,
}

/// One task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTask {
    /// The task.
    pub task_id: TaskId,
    /// The version that this plan uses.
    pub version_id: TaskVersionId,
    /// Its definition.
    pub def: Arc<TaskDef>,
}
