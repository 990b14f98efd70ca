//! What a run is to do: the versions of its tasks and the edges between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::graph::{self, Graph};
use crate::model::{
    DagDef, DagId, Dependency, EdgeKind, Problem, SpecError, TaskDef, TaskId, TaskVersionId,
};

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

impl Plan {
    /// The plan of a run of these tasks. Its graph holds the edges inside the run: to tasks of
    /// the same dag, in the same period. WEAK ones are among them and may close a circle.
    ///
    /// # Errors
    /// What [`Plan::check`] says about the edges.
    pub fn build(dag_id: DagId, dag: &str, tasks: Vec<PlannedTask>) -> Result<Plan, SpecError> {
        let defs: Vec<&TaskDef> = tasks.iter().map(|task| &*task.def).collect();
        // The definition was checked whole; a plan may be of a part of it.
        let mut problems = check_edges(dag, &defs);
        problems.retain(|problem| problem.code != "unknown_upstream");
        if !problems.is_empty() {
            return Err(SpecError(problems));
        }
        let index: BTreeMap<&str, u32> =
            defs.iter().map(|def| def.name.as_str()).zip(0u32..).collect();
        let mut edges = Vec::new();
        let mut edge_kinds = Vec::new();
        for (down, def) in (0u32..).zip(&defs) {
            for edge in def.dependencies.iter().filter(|edge| in_this_run(edge)) {
                let up = local(dag, &edge.upstream).and_then(|name| index.get(name));
                if let Some(&up) = up {
                    edges.push((up, down));
                    edge_kinds.push(edge.kind);
                }
            }
        }
        let graph = Graph::new(tasks.len(), &edges)
            .map_err(|error| Problem::new("bad_graph", dag, error.to_string()))?;
        Ok(Plan { dag_id, dag: dag.to_owned(), tasks, graph, edge_kinds })
    }

    /// What is wrong with the edges of a dag: `duplicate_task`, `unknown_upstream`, `cycle`.
    /// Edges to other dags are not judged here.
    pub fn check(dag: &DagDef) -> Vec<Problem> {
        check_edges(&dag.key, &dag.tasks.iter().collect::<Vec<_>>())
    }
}

fn check_edges(dag: &str, tasks: &[&TaskDef]) -> Vec<Problem> {
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    let known: BTreeSet<&str> = names.iter().copied().collect();
    let mut edges = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        // Several periods of one upstream are one edge to the graph.
        let mut seen = BTreeSet::new();
        for edge in &task.dependencies {
            let Some(upstream) = local(dag, &edge.upstream) else { continue };
            // Nothing can wait for its own run, however weakly.
            let itself = upstream == task.name && in_this_run(edge);
            // The cycle check is not about the others, but their upstreams must be there too.
            let judged = edge.can_close_a_cycle() || itself || !known.contains(upstream);
            if judged && seen.insert(upstream) {
                edges.push((at, upstream));
            }
        }
    }
    graph::check(&names, &edges, &|_| false, dag).err().unwrap_or_default()
}

/// The task's name, if the key is of this dag.
pub(super) fn local<'k>(dag: &str, key: &'k str) -> Option<&'k str> {
    key.strip_prefix(dag)?.strip_prefix('.')
}

/// Whether the edge looks at the run's own period and no other.
pub(super) fn in_this_run(edge: &Dependency) -> bool {
    (edge.offset_from, edge.offset_to) == (0, 0)
}
