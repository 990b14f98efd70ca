//! What a session is asked for, checked and filled in: runs by their dates and parameters, tasks by
//! their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::refusal::SessionError;
use crate::engine::{Asked, NewRun, Plan, Plans, Run, When};
use crate::graph::Nearest;
use crate::model::{DagId, Date, Instant, Problem, SpecError, TaskVersionId, Trigger, params};
use crate::store::StoredRun;

/// What a run is asked for with; what is missing is filled from the request's own instant.
#[derive(Debug, Default)]
pub struct NewRunRequest {
    /// The instant it is meant for.
    pub nominal_at: Option<Instant>,
    /// The day its data belongs to.
    pub biz_date: Option<Date>,
    /// Its data interval.
    pub interval: Option<(Instant, Instant)>,
    /// Values of its parameters.
    pub params: Map<String, Value>,
    /// Only these tasks, by name.
    pub only: Option<Vec<String>>,
    /// Who asks.
    pub requested_by: Option<String>,
    /// Whether what is disabled, or what `run_on` would skip, runs all the same.
    pub force: bool,
}

/// What of a run is to run again, by name.
#[derive(Debug, Clone)]
pub struct Rerun {
    /// These tasks; none is whatever did not succeed.
    pub tasks: Option<Vec<String>>,
    /// And all that is downstream of them.
    pub downstream: bool,
}

/// A registered dag, ready to make runs of.
pub struct CachedPlan {
    pub(super) plans: Plans,
    pub(super) when: When,
    pub(super) timezone: String,
    /// Of which revision of the dag it is.
    pub(super) revision: (DagId, i64),
    /// Versions whose code is what the dag's file is now.
    pub(super) followed: BTreeSet<TaskVersionId>,
}

/// Checks a request and fills in what it leaves open; all that is wrong with it at once.
pub(super) fn new_run(
    cached: &CachedPlan,
    request: NewRunRequest,
    now: Instant,
) -> Result<NewRun, SessionError> {
    let dag = &cached.plans.active().dag;
    let mut problems = Vec::new();
    let asked = Asked {
        nominal_at: request.nominal_at,
        biz_date: request.biz_date,
        interval: request.interval,
    };
    let moment = cached.when.resolve(asked, now).map_err(|problem| {
        let place = format!("{dag}.{}", problem.place);
        problems.push(Problem { place, ..problem });
    });
    let chosen = match &moment {
        Ok(moment) => cached.plans.of(moment.biz_date)?,
        Err(()) => Arc::clone(cached.plans.active()),
    };
    let plan = &chosen;
    let mut given = request.params;
    let tasks = plan.tasks.iter().map(|task| &*task.def);
    if let Ok(moment) = &moment {
        let schema = tasks.clone().flat_map(|task| &task.param_schema);
        params::fill_biz_date(schema, &mut given, moment.biz_date);
    }
    let params = params::bind_dag(&plan.dag, tasks, &given).map_err(|found| problems.extend(found));
    let (Ok(moment), Ok(params)) = (moment, params) else { return Err(SpecError(problems).into()) };
    let only = request.only.as_ref().map(|names| indexes(plan, names)).transpose()?;
    Ok(NewRun {
        plan: Arc::clone(plan),
        nominal_at: moment.nominal_at,
        biz_date: moment.biz_date,
        interval: moment.interval,
        timezone: cached.timezone.clone(),
        trigger: Trigger::Manual,
        timed: false,
        interactive: true,
        requested_by: request.requested_by,
        params,
        task: None,
        variant: String::new(),
        schedules: Vec::new(),
        only,
        force: request.force,
    })
}

/// Indexes of tasks by name.
pub(super) fn indexes(plan: &Plan, names: &[String]) -> Result<Vec<u32>, SessionError> {
    indexes_in(plan, names, &|_| None)
}

/// The same in a run, where `load[3]` is an item of a mapped task. `items` knows the indexes of the
/// items that there are, by the index of their task.
pub(super) fn indexes_in(
    plan: &Plan,
    names: &[String],
    items: &dyn Fn(u32) -> Option<Vec<u32>>,
) -> Result<Vec<u32>, SessionError> {
    let known: BTreeMap<&str, u32> =
        plan.tasks.iter().map(|task| task.def.name.as_str()).zip(0..).collect();
    let task = |name: &str| {
        known.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = known.keys().copied().collect();
            let nearest = Nearest::new(&names).find(name);
            let hint = nearest.map(|near| format!("\n  hint: did you mean {near}?"));
            let hint = hint.unwrap_or_default();
            SessionError::NotFound(format!("dag {} has no task {name}{hint}", plan.dag))
        })
    };
    let mut lists: BTreeMap<u32, Option<Vec<u32>>> = BTreeMap::new();
    let index = |name: &String| {
        let Some((name, place)) = item_name(name) else { return task(name) };
        let of = task(name)?;
        let list = lists.entry(of).or_insert_with(|| items(of));
        list.as_ref().and_then(|list| list.get(place as usize).copied()).ok_or_else(|| {
            let why = match list {
                Some(list) if !list.is_empty() => {
                    format!("{name} has items {name}[0] to {name}[{}]", list.len() - 1)
                }
                Some(_) => format!("{name} has no items in this run"),
                None => format!("{name} is not mapped: it has no items"),
            };
            SessionError::NotFound(format!(
                "dag {} has no {name}[{place}] here\n  hint: {why}",
                plan.dag
            ))
        })
    };
    names.iter().map(index).collect()
}

/// The indexes of items of a mapped task in the rows of a run, which are in the order of their ids.
pub(super) fn items_of_rows(stored: &StoredRun, plan: &Plan, of: u32) -> Option<Vec<u32>> {
    let task = plan.tasks.get(of as usize).filter(|task| task.def.map.is_some())?;
    let rows = (0u32..).zip(&stored.task_runs).skip(stored.row.task_count as usize);
    Some(rows.filter(|(_, row)| row.task_id == task.task_id).map(|(index, _)| index).collect())
}

/// The same of a run that is at hand.
pub(super) fn items_of_run(run: &Run, of: u32) -> Option<Vec<u32>> {
    let count = run.items(of)?.len();
    Some((0..count).filter_map(|place| run.item(of, place)).collect())
}

/// `load[3]` as `load` and 3.
fn item_name(name: &str) -> Option<(&str, u32)> {
    let (task, place) = name.strip_suffix(']')?.split_once('[')?;
    Some((task, place.parse().ok()?))
}
