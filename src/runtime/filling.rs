//! Backfills as this process carries them out: what their runs are to do, and how one is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crossbeam_channel::bounded;

use super::driver::{Backfilled, Begin, Message, Take};
use super::executor::HandlerHost;
use super::node::is_alive;
use super::planning;
use super::refusal::SessionError;
use super::session::{Session, lock};
use super::watch::BackfillWatch;
use crate::engine::{Plan, PlannedTask};
use crate::model::{BackfillId, BackfillPlan, Instant, Problem, SpecError, Steer, params};
use crate::store::{CommitError, InTheWay, RegisteredDag, Store, StoredBackfill};

/// Who can call the handlers of each dag.
pub type HostsOf = BTreeMap<String, HandlerHost>;

impl Session {
    /// Carries out a plan here; durable when this returns.
    ///
    /// # Errors
    /// `Refused` where it was applied already, or an open backfill has one of its cells; `Spec` with
    /// everything that is wrong with its parameters.
    pub fn apply_backfill(
        &self,
        plan: BackfillPlan,
        hosts: HostsOf,
        requested_by: Option<String>,
    ) -> Result<BackfillId, SessionError> {
        let plan = Arc::new(plan);
        let plans = sets_of(&mut **lock(&self.store), &plan)?;
        let (reply, answer) = bounded(1);
        self.send(Message::Begin(Begin { plan, plans, hosts, requested_by, reply }))?;
        let begun = answer.recv().map_err(|_| SessionError::Closed)??;
        Ok(self.followed(begun))
    }

    /// Takes up a backfill whose process is gone, or that is ours, and does something about it.
    ///
    /// # Errors
    /// `NotFound`; `Refused` where its process lives, or where that cannot be done.
    pub fn steer_backfill(
        &self,
        id: BackfillId,
        hosts: HostsOf,
        steer: Option<Steer>,
        grace_ms: Option<i64>,
    ) -> Result<(), SessionError> {
        self.take_over_backfill(id)?;
        let (reply, answer) = bounded(1);
        self.send(Message::Take(Take { id, hosts, steer, grace_ms, reply }))?;
        let taken = answer.recv().map_err(|_| SessionError::Closed)??;
        self.followed(taken);
        Ok(())
    }

    /// Refuses a plan that would be another one now, and says what has changed.
    ///
    /// # Errors
    /// `Refused`; what planning it anew says.
    pub fn refuse_old_plan(&self, plan: &BackfillPlan) -> Result<(), SessionError> {
        let now = self.now();
        refuse_old(&mut **lock(&self.store), plan, now)
    }

    fn followed(&self, (id, watch): Backfilled) -> BackfillId {
        lock(&self.backfills).insert(id, watch);
        id
    }

    /// The watch of a backfill that this process decides for or has decided for.
    pub fn backfill_watch(&self, id: BackfillId) -> Option<Arc<BackfillWatch>> {
        lock(&self.backfills).get(&id).cloned()
    }

    /// How many attempts of a backfill are live here.
    ///
    /// # Errors
    /// `Closed`.
    pub fn live_of_backfill(&self, id: BackfillId) -> Result<usize, SessionError> {
        let (reply, answer) = bounded(1);
        self.send(Message::LiveOf(id, reply))?;
        answer.recv().map_err(|_| SessionError::Closed)
    }

    /// Makes a backfill ours, unless its process lives.
    fn take_over_backfill(&self, id: BackfillId) -> Result<(), SessionError> {
        let mut store = lock(&self.store);
        let missing = || SessionError::NotFound(format!("there is no backfill {id}"));
        let StoredBackfill { row, .. } = store.backfill(id)?.ok_or_else(missing)?;
        let own = self.lease();
        if row.scope_id == own.scope_id {
            return Ok(());
        }
        if let Some(holder) = store.holder(row.scope_id)?
            && let Some(node) = store.node(holder.node_id)?
            && is_alive(self.files(), &node, self.host(), self.now())
        {
            return Err(SessionError::Refused(format!(
                "process {} on {} decides for backfill {id}\n  hint: ask that process",
                node.pid, node.host
            )));
        }
        match store.take_over_backfill(id, row.scope_id, own) {
            Ok(()) => Ok(()),
            Err(CommitError::Conflict { .. }) => {
                Err(SessionError::Refused(format!("another process has just taken backfill {id}")))
            }
            Err(other) => Err(SessionError::Store(other.to_string())),
        }
    }
}

/// Why a plan cannot be applied, in words.
pub(super) fn refusal(found: &InTheWay) -> String {
    match found {
        InTheWay::Applied(id) => format!(
            "this plan was applied already: it is backfill {id}\n  hint: plan it anew to compute \
             its cells once more"
        ),
        InTheWay::Overlaps { backfill, task, biz_date } => format!(
            "backfill {backfill} computes {task} for {biz_date} at the moment\n  hint: plan it \
             anew; what is open elsewhere is left out then"
        ),
    }
}

/// What the runs of each set of a plan are to do.
///
/// # Errors
/// `NotFound` where a dag or version is not there; `Spec` where they do not fit together, or the
/// parameters do not fit them.
pub(super) fn sets_of(
    store: &mut dyn Store,
    plan: &BackfillPlan,
) -> Result<Vec<Arc<Plan>>, SessionError> {
    let ids: Vec<_> = plan.tasks.iter().map(|task| task.version_id).collect();
    let versions = store.versions(&ids)?;
    let mut dags: BTreeMap<&str, RegisteredDag> = BTreeMap::new();
    let mut plans = Vec::with_capacity(plan.sets.len());
    for set in &plan.sets {
        let missing = |what: &str| SessionError::NotFound(format!("{} has no {what}", set.dag));
        if !dags.contains_key(set.dag.as_str()) {
            let dag = store.dag(&set.dag)?.ok_or_else(|| missing("definition"))?;
            dags.insert(&set.dag, dag);
        }
        let Some(dag) = dags.get(set.dag.as_str()) else { continue };
        let mut tasks = Vec::with_capacity(set.tasks.len());
        for task in &set.tasks {
            let task = plan.tasks.get(*task as usize).ok_or_else(|| missing("such task"))?;
            let version = versions.get(&task.version_id).ok_or_else(|| missing(&task.name))?;
            tasks.push(version.planned());
        }
        plans.push(Arc::new(part(dag, tasks)?));
    }
    check_params(plan, &plans)?;
    Ok(plans)
}

/// The plan of a run of these tasks of a dag.
pub(super) fn part(dag: &RegisteredDag, tasks: Vec<PlannedTask>) -> Result<Plan, SpecError> {
    let bound = |name: &str| dag.schedules.iter().any(|(_, schedule)| schedule.binds_task(name));
    let names = dag.tasks.iter().map(|task| &task.def.name).filter(|name| bound(name));
    let alone: BTreeSet<String> = names.cloned().collect();
    let mut part = Plan::part(dag.id, &dag.def.key, tasks, &alone)?;
    if dag.schedules.is_empty() && part.across.iter().any(|edges| !edges.is_empty()) {
        let whole = dag.tasks.iter().map(|task| task.planned()).collect();
        part.follow_as(&Plan::build(dag.id, &dag.def.key, whole)?);
    }
    Ok(part)
}

/// Refuses values that no task of the plan takes, or that do not fit.
fn check_params(plan: &BackfillPlan, plans: &[Arc<Plan>]) -> Result<(), SessionError> {
    let mine = || plans.iter().filter(|each| each.dag == plan.ask.dag);
    let tasks = || mine().flat_map(|plan| &plan.tasks).map(|task| &*task.def);
    if plan.ask.params.is_empty() && tasks().all(|task| task.param_schema.is_empty()) {
        return Ok(());
    }
    let mut given = plan.ask.params.clone();
    if let Some(run) = plan.runs.first() {
        params::fill_biz_date(
            tasks().flat_map(|task| &task.param_schema),
            &mut given,
            run.biz_date,
        );
    }
    // A task of several sets is complained about once.
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    if let Err(found) = params::bind_dag(&plan.ask.dag, tasks(), &given) {
        let is_new = |problem: &Problem| {
            seen.insert((problem.code, problem.place.clone(), problem.message.clone()))
        };
        problems = found;
        problems.retain(is_new);
    }
    if problems.is_empty() { Ok(()) } else { Err(SpecError(problems).into()) }
}

/// Refuses a plan that would be another one now, and says what has changed.
pub(super) fn refuse_old(
    store: &mut dyn Store,
    plan: &BackfillPlan,
    now: Instant,
) -> Result<(), SessionError> {
    if let Some(InTheWay::Applied(id)) = store.in_the_way(plan)? {
        return Err(SessionError::Refused(refusal(&InTheWay::Applied(id))));
    }
    let newer = planning::plan(store, &plan.ask, now)?.plan;
    if newer.hash == plan.hash {
        return Ok(());
    }
    Err(SessionError::Refused(format!(
        "the plan is not what it would be now: {}\n  hint: plan it anew and look at it; nothing was \
         started",
        difference(plan, &newer)
    )))
}

/// What has changed from one plan to a later one, in a few words.
fn difference(old: &BackfillPlan, new: &BackfillPlan) -> String {
    const NAMED: usize = 5;
    let cells = |plan: &BackfillPlan| -> BTreeSet<(String, String)> {
        let runs = plan.runs.iter().filter_map(|run| Some((run, plan.sets.get(run.set as usize)?)));
        let cells = runs.flat_map(|(run, set)| {
            let tasks = set.tasks.iter().filter_map(|task| plan.tasks.get(*task as usize));
            tasks.map(|task| (format!("{}.{}", task.dag, task.name), run.biz_date.to_string()))
        });
        cells.collect()
    };
    let named = |cells: Vec<&(String, String)>| {
        let first: Vec<String> =
            cells.iter().take(NAMED).map(|(task, date)| format!("{task} for {date}")).collect();
        let more = cells.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", first.join(", "))
    };
    let (before, after) = (cells(old), cells(new));
    let (gone, come): (Vec<_>, Vec<_>) =
        (before.difference(&after).collect(), after.difference(&before).collect());
    let mut parts = Vec::new();
    if !gone.is_empty() {
        parts.push(format!("it would not compute {}", named(gone)));
    }
    if !come.is_empty() {
        parts.push(format!("it would compute {} too", named(come)));
    }
    let version = |task: &&crate::model::BackfillTask| {
        let known = new.tasks.iter().find(|other| other.task_id == task.task_id);
        known.is_some_and(|known| known.version_id != task.version_id)
    };
    let edited: Vec<String> = old
        .tasks
        .iter()
        .filter(version)
        .map(|task| format!("{}.{}", task.dag, task.name))
        .collect();
    if !edited.is_empty() {
        parts.push(format!("{} has another version", edited.join(", ")));
    }
    if parts.is_empty() {
        parts.push("some of its cells were computed, or their reasons have changed".to_owned());
    }
    parts.join("; ")
}
