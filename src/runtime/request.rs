//! What a session is asked for, checked and filled in: runs by their dates and parameters, tasks by
//! their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::refusal::SessionError;
use crate::engine::{Asked, NewRun, Plan, Plans, When};
use crate::graph::Nearest;
use crate::model::{DagId, Date, Instant, Problem, SpecError, TaskVersionId, Trigger, params};

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
    let known: BTreeMap<&str, u32> =
        plan.tasks.iter().map(|task| task.def.name.as_str()).zip(0..).collect();
    let index = |name: &String| {
        known.get(name.as_str()).copied().ok_or_else(|| {
            let names: Vec<&str> = known.keys().copied().collect();
            let nearest = Nearest::new(&names).find(name);
            let hint = nearest.map(|near| format!("\n  hint: did you mean {near}?"));
            let hint = hint.unwrap_or_default();
            SessionError::NotFound(format!("dag {} has no task {name}{hint}", plan.dag))
        })
    };
    names.iter().map(index).collect()
}
