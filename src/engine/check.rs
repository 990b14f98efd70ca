//! Everything that is checked when a dag is registered: the one door for definitions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Plan;
use crate::calendar::Zone;
use crate::model::spec::{read_dag, with_source};
use crate::model::{DagDef, Problem, ScheduleDef, SpecError, TaskDef};

/// Reads a definition and checks it on every floor: fields, graph, schedules.
///
/// # Errors
/// Every problem there is. What could not be read is left out of the later checks, so that one
/// mistake is not told twice.
pub fn check_definition(spec: &Value) -> Result<DagDef, SpecError> {
    let (dag, mut problems) = read_dag(spec);
    if let Some(dag) = &dag {
        problems.extend(beyond_fields(dag, spec));
    }
    match dag {
        Some(dag) if problems.is_empty() => Ok(dag),
        _ => Err(SpecError(problems)),
    }
}

/// What takes a graph or a calendar to see.
fn beyond_fields(dag: &DagDef, spec: &Value) -> Vec<Problem> {
    let unread = unread_tasks(dag, spec);
    let sources: BTreeMap<String, &str> = (dag.tasks.iter())
        .filter_map(|task| Some((format!("{}.{}", dag.key, task.name), task.source.as_deref()?)))
        .collect();
    let graph = Plan::check(dag)
        .into_iter()
        // A task with a mistake in its name is not there, but its dependents are right.
        .filter(|problem| !(unread && problem.code == "unknown_upstream"));
    let tasks = graph.map(|problem| {
        let source = sources.get(&problem.place).copied();
        with_source(problem, source)
    });
    let fields = super::conditions::check(dag).into_iter().chain(super::blocks::check(dag));
    let fields = fields.map(|problem| {
        let of =
            |task: &&TaskDef| problem.place.starts_with(&format!("{}.{}.", dag.key, task.name));
        let source = dag.tasks.iter().find(of).and_then(|task| task.source.as_deref());
        with_source(problem, source)
    });
    let texts = (super::texts::check(dag).into_iter())
        .map(|(problem, task)| with_source(problem, task.source.as_deref()));
    tasks
        .chain(texts)
        .chain(fields)
        .chain(check_zone(dag))
        .chain(dag.schedules.iter().flat_map(|schedule| check_schedule(&dag.key, schedule)))
        .collect()
}

/// Whether a task of the form could not be read at all.
fn unread_tasks(dag: &DagDef, spec: &Value) -> bool {
    let given = spec.get("tasks").and_then(Value::as_array).map_or(0, Vec::len);
    given != dag.tasks.len()
}

/// A zone that no schedule would complain about.
fn check_zone(dag: &DagDef) -> Option<Problem> {
    if dag.schedules.iter().any(|schedule| schedule.rule.timezone == dag.timezone) {
        return None;
    }
    let problem = Zone::named(&dag.timezone).err()?;
    Some(Problem { place: format!("{}.timezone", dag.key), ..problem })
}

/// What is wrong with a schedule's text and zone.
pub fn check_schedule(dag: &str, schedule: &ScheduleDef) -> Vec<Problem> {
    let Err(SpecError(problems)) = super::rule(&schedule.rule) else { return Vec::new() };
    let place = format!("{dag}.schedule {}", schedule.name);
    // The calendar knows the field and the position; the dag and the schedule are known here.
    let placed = |problem: Problem| match problem.place.is_empty() {
        true => Problem { place: place.clone(), ..problem },
        false => Problem { place: format!("{place}.{}", problem.place), ..problem },
    };
    problems.into_iter().map(placed).collect()
}
