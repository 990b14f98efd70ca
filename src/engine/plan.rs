//! What a run is to do: the versions of its tasks and the edges between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::edges::EdgeRule;
use crate::graph::{self, Graph};
use crate::model::{
    ASSET, DagDef, DagId, Dependency, EdgeKind, OffsetUnit, Problem, SpecError, TaskDef, TaskId,
    TaskVersionId, Which,
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
    /// Rule of each edge, by the edge id that `graph` carries.
    pub rules: Vec<EdgeRule>,
    /// The names under which other runs look at each task: its full key first, then whose data it
    /// makes ready, and its assets.
    pub names: Vec<Vec<Arc<str>>>,
    /// Edges of each task to other runs; none of them is WEAK.
    pub across: Vec<Vec<Across>>,
}

/// An edge to the runs of a task for other dates, in other dags, or of a schedule of its own; or to
/// an asset.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// Full key of the upstream, or `@` and the name of an asset.
    pub upstream: Arc<str>,
    /// How it judges each of the upstream's task runs.
    pub rule: EdgeRule,
    /// First period, relative to the dependent's; negative is earlier.
    pub from: i32,
    /// Last period.
    pub to: i32,
    /// Unit of both.
    pub unit: OffsetUnit,
    /// Which of several upstream runs of a period count.
    pub which: Which,
    /// Whether it is the edge that the dag follows, where that has no schedule.
    pub follows: bool,
    /// Whether it names a task, whose success it needs besides the asset being ready.
    pub needs_task: bool,
    /// Whether it looks at the newest run of the very instant of whoever waits: its upstream is of
    /// the same dag, and the run holds a part of that.
    pub same: bool,
}

/// What a probe that looks whether a task's data is ready has behind the name of that task.
pub const READY: &str = "_ready";

/// What stands behind the key of a task where its data is meant: of its probe, if it has one.
pub const DATA: &str = "#ready";

/// The type of a task that looks whether data is ready.
pub const PROBE: &str = "probe";

/// One task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTask {
    /// The task.
    pub task_id: TaskId,
    /// The version that this plan uses.
    pub version_id: TaskVersionId,
    /// Its definition.
    pub def: Arc<TaskDef>,
    /// Whether it runs; what is disabled is skipped when a run is made.
    pub enabled: bool,
}

impl Plan {
    /// The plan of a run of these tasks. Its graph holds the edges inside the run: to tasks of
    /// the same dag, in the same period. WEAK ones are among them and may close a circle.
    ///
    /// # Errors
    /// What [`Plan::check`] says about the edges.
    pub fn build(dag_id: DagId, dag: &str, tasks: Vec<PlannedTask>) -> Result<Plan, SpecError> {
        Plan::of(dag_id, dag, tasks, None)
    }

    /// The plan of a run of a part of a dag. What its tasks wait for in the same run, and that is not
    /// in the part, is looked for in the newest run of the same instant. `alone` are the tasks of the
    /// dag that have a schedule of their own: they are never in the same run.
    ///
    /// # Errors
    /// As [`Plan::build`].
    pub fn part(
        dag_id: DagId,
        dag: &str,
        tasks: Vec<PlannedTask>,
        alone: &BTreeSet<String>,
    ) -> Result<Plan, SpecError> {
        Plan::of(dag_id, dag, tasks, Some(alone))
    }

    fn of(
        dag_id: DagId,
        dag: &str,
        tasks: Vec<PlannedTask>,
        alone: Option<&BTreeSet<String>>,
    ) -> Result<Plan, SpecError> {
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
        let mut rules = Vec::new();
        let mut across = Vec::with_capacity(tasks.len());
        for (down, def) in (0u32..).zip(&defs) {
            let mut outside = Vec::new();
            for edge in &def.dependencies {
                let named = local(dag, &edge.upstream).and_then(|name| index.get(name).copied());
                let is_data = edge.kind == EdgeKind::DataReady;
                let up = named.filter(|_| edge.is_here()).map(|up| match is_data {
                    true => ready_task(&defs, &index, up),
                    false => up,
                });
                // An asset may be declared from outside too, which is no task of this run.
                let asset =
                    up.filter(|_| is_data).and_then(|up| defs[up as usize].produces.first());
                match (up, asset) {
                    (_, Some(asset)) => {
                        outside.push(Across::of(edge, format!("{ASSET}{asset}"), true));
                    }
                    (Some(up), None) => {
                        edges.push((up, down));
                        let mut rule = EdgeRule::of(edge);
                        if is_data {
                            // Without an asset there is nothing that a skipped task still owes.
                            rule.kind = EdgeKind::Success;
                        }
                        rules.push(rule);
                    }
                    (None, None) if edge.kind != EdgeKind::Weak => {
                        let is_same = alone.is_some_and(|alone| {
                            let own = alone.contains(def.name.as_str());
                            let name = local(dag, &edge.upstream).filter(|_| edge.is_here());
                            !own && name.is_some_and(|name| !alone.contains(name))
                        });
                        outside.push(Across { same: is_same, ..Across::plain(edge) })
                    }
                    (None, None) => {}
                }
            }
            across.push(outside);
        }
        let follows = |edge: &&mut Across| {
            let here = (edge.from, edge.to, edge.unit) == (0, 0, OffsetUnit::Day);
            here && local(dag, &edge.upstream).is_none()
        };
        // Of a part nobody knows by itself what the whole follows.
        if alone.is_none()
            && let Some(edge) = across.iter_mut().flatten().find(follows)
        {
            edge.follows = true;
        }
        let graph = Graph::new(tasks.len(), &edges)
            .map_err(|error| Problem::new("bad_graph", dag, error.to_string()))?;
        let names = (0u32..).zip(&defs).map(|(at, def)| {
            let probed = def.name.strip_suffix(READY).filter(|_| def.kind == PROBE);
            // A task with a probe does not say itself that its data is ready.
            let whose = match probed {
                Some(probed) => Some(probed),
                None if ready_task(&defs, &index, at) == at => Some(def.name.as_str()),
                None => None,
            };
            let assets = def.produces.iter().map(|asset| format!("{ASSET}{asset}"));
            let ready = whose.map(|name| format!("{dag}.{name}{DATA}"));
            let key = [format!("{dag}.{}", def.name)];
            key.into_iter().chain(ready).chain(assets).map(Into::into).collect()
        });
        let names = names.collect();
        Ok(Plan { dag_id, dag: dag.to_owned(), tasks, graph, rules, names, across })
    }

    /// The edge to another dag that it follows where it has no schedule: the first one in the
    /// author's order that looks at its own period.
    pub fn followed(&self) -> Option<&Across> {
        self.across.iter().flatten().find(|edge| edge.follows)
    }

    /// This part of a dag without a schedule follows what the whole of it follows.
    pub fn follow_as(&mut self, whole: &Plan) {
        for (task, edges) in self.tasks.iter().zip(&mut self.across) {
            let name = |other: &PlannedTask| other.def.name == task.def.name;
            let index = whole.tasks.iter().position(name);
            let known = index.and_then(|index| whole.across.get(index)).map_or(&[][..], |e| e);
            for edge in edges {
                edge.follows = known.iter().any(|other| {
                    other.follows
                        && (&other.upstream, other.from, other.to, other.unit)
                            == (&edge.upstream, edge.from, edge.to, edge.unit)
                });
            }
        }
    }

    /// Full key of a task.
    pub fn key(&self, index: u32) -> Option<&Arc<str>> {
        self.names.get(index as usize)?.first()
    }

    /// The names under which other runs look at a task.
    pub(super) fn names_of(&self, index: u32) -> &[Arc<str>] {
        self.names.get(index as usize).map_or(&[], Vec::as_slice)
    }

    /// The edges of a task to other runs.
    pub fn across(&self, index: u32) -> &[Across] {
        self.across.get(index as usize).map_or(&[], Vec::as_slice)
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
            let itself = upstream == task.name && edge.is_here();
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

/// Who says that the data of a task is ready: its probe, if it has one.
fn ready_task(defs: &[&TaskDef], index: &BTreeMap<&str, u32>, task: u32) -> u32 {
    let name = format!("{}{READY}", defs[task as usize].name);
    let probe = index.get(name.as_str()).copied();
    probe.filter(|probe| defs[*probe as usize].kind == PROBE).unwrap_or(task)
}

impl Across {
    /// An edge as it is defined.
    pub(super) fn plain(edge: &Dependency) -> Across {
        let needs_task = edge.asset().is_none();
        let upstream = match edge.kind {
            EdgeKind::DataReady if needs_task => format!("{}{DATA}", edge.upstream),
            _ => edge.upstream.clone(),
        };
        Across::of(edge, upstream, needs_task)
    }

    fn of(edge: &Dependency, upstream: String, needs_task: bool) -> Across {
        Across {
            upstream: upstream.into(),
            rule: EdgeRule::of(edge),
            from: edge.offset_from,
            to: edge.offset_to,
            unit: edge.offset_unit,
            which: edge.which,
            follows: false,
            needs_task,
            same: false,
        }
    }
}
