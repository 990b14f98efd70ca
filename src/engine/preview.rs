//! What a run would get: the texts of a dag for any day, without a run.

use serde_json::{Map, Value};

use super::fill::{Filling, MASK, Times, fill_seen};
use super::moment::{Asked, Moment, When};
use crate::graph::Nearest;
use crate::model::{DagDef, Instant, Problem, SpecError, TaskDef, params};

/// The texts of some tasks for one moment.
#[derive(Debug)]
pub struct Preview {
    /// The times they were filled in for.
    pub moment: Moment,
    /// Every text with a placeholder.
    pub texts: Vec<PreviewText>,
}

/// One text with a placeholder.
#[derive(Debug, PartialEq)]
pub struct PreviewText {
    /// The task.
    pub task: String,
    /// Where in the task: `config.sql`.
    pub place: String,
    /// As the author wrote it.
    pub before: String,
    /// As a run gets it. Results, and parameters that have no value yet, stand as they were
    /// written; secrets are masked.
    pub after: Value,
}

/// Fills in the texts of a dag, or of one of its tasks, as a run for the moment that is asked for
/// would. The function is that of the runs, see `fill`.
///
/// # Errors
/// Everything wrong with the request, as a run says it: `no_fire`, `several_fires`, those of
/// parameters, `unknown_task`; and what a run would fail of.
pub fn preview(
    dag: &DagDef,
    task: Option<&str>,
    asked: Asked,
    given: &Map<String, Value>,
    now: Instant,
) -> Result<Preview, SpecError> {
    let mut problems = Vec::new();
    let tasks = chosen(dag, task).unwrap_or_else(|problem| {
        problems.push(problem);
        Vec::new()
    });
    let of_dag = dag.schedules.iter().filter(|schedule| schedule.binds_dag());
    let when = When::of(&dag.timezone, dag.biz_offset, of_dag)?;
    let moment = when.resolve(asked, now).map_err(|problem| {
        let place = format!("{}.{}", dag.key, problem.place);
        problems.push(Problem { place, ..problem });
    });
    let mut given = given.clone();
    if let Ok(moment) = &moment {
        let schema = dag.tasks.iter().flat_map(|task| &task.param_schema);
        params::fill_biz_date(schema, &mut given, moment.biz_date);
    }
    let bound = bound(dag, &given).map_err(|found| problems.extend(found));
    let (Ok(moment), Ok(bound)) = (moment, bound) else { return Err(SpecError(problems)) };
    let mut texts = Vec::new();
    for task in tasks {
        match of_task(dag, task, moment, &bound) {
            Ok(found) => texts.extend(found),
            Err(SpecError(found)) => problems.extend(found.into_iter().map(|problem| Problem {
                place: format!("{}.{}.{}", dag.key, task.name, problem.place),
                ..problem
            })),
        }
    }
    if problems.is_empty() { Ok(Preview { moment, texts }) } else { Err(SpecError(problems)) }
}

/// The parameters of the run. One that it would have to be given may be missing here.
fn bound(dag: &DagDef, given: &Map<String, Value>) -> Result<Map<String, Value>, Vec<Problem>> {
    let mut tasks = dag.tasks.clone();
    for param in tasks.iter_mut().flat_map(|task| &mut task.param_schema) {
        if param.required && !given.contains_key(&param.name) {
            (param.required, param.nullable) = (false, true);
        }
    }
    params::bind_dag(&dag.key, tasks.iter(), given)
}

fn chosen<'a>(dag: &'a DagDef, task: Option<&str>) -> Result<Vec<&'a TaskDef>, Problem> {
    let Some(name) = task else { return Ok(dag.tasks.iter().collect()) };
    if let Some(task) = dag.tasks.iter().find(|task| task.name == name) {
        return Ok(vec![task]);
    }
    let names: Vec<&str> = dag.tasks.iter().map(|task| task.name.as_str()).collect();
    let message = format!("dag {} has no task `{name}`", dag.key);
    let problem = Problem::new("unknown_task", &dag.key, message);
    Err(match Nearest::new(&names).find(name) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("'mainspring show {}' lists them", dag.key)),
    })
}

fn of_task(
    dag: &DagDef,
    task: &TaskDef,
    moment: Moment,
    given: &Map<String, Value>,
) -> Result<Vec<PreviewText>, SpecError> {
    let filling = Filling {
        item: None,
        dag: &dag.key,
        times: Times {
            nominal_at: moment.nominal_at,
            biz_date: moment.biz_date,
            interval: moment.interval,
            timezone: &dag.timezone,
        },
        params: given,
        result: None,
        secret: &|_| Some(MASK.to_owned()),
    };
    let mut texts = Vec::new();
    fill_seen(task, &filling, &mut |place, before, after| {
        texts.push(PreviewText {
            task: task.name.clone(),
            place: place.to_owned(),
            before: before.to_owned(),
            after: after.clone(),
        });
    })?;
    Ok(texts)
}
