//! From the form an author writes to the definition that is stored, or to everything wrong.
//!
//! The form is JSON as the Python face and the loaders make it. It is read by hand, field by
//! field, because a derived reader stops at the first mistake and names no place that an author
//! would recognise. What needs a graph (unknown upstreams, cycles) or a calendar (the text of a
//! schedule, zones) is checked on those floors; `engine::check_definition` does all of it.

mod conditions;
mod dag;
mod edges;
mod map;
mod policy;
mod reader;
mod schedule;
mod slots;
mod task;
mod types;

use serde_json::Value;

use self::reader::Problems;
pub(crate) use self::reader::with_source;
use super::{DagDef, Problem, SpecError, key};

/// The most tasks of one dag.
pub const MOST_TASKS: usize = 1_000_000;

/// Checks names, fields, types, policies, parameters and schedules of a definition, and resolves
/// its defaults: task, then dag, then project.
///
/// # Errors
/// Every problem there is, in the order of the fields.
pub fn check_dag(spec: &Value) -> Result<DagDef, SpecError> {
    let (dag, problems) = read_dag(spec);
    match dag {
        Some(dag) if problems.is_empty() => Ok(dag),
        _ => Err(SpecError(problems)),
    }
}

/// The same for those who go on checking: a definition with problems comes back as far as it
/// could be read, without the parts that are wrong.
pub(crate) fn read_dag(spec: &Value) -> (Option<DagDef>, Vec<Problem>) {
    let mut problems = Problems::default();
    if let Some(problem) = reader::too_deep(spec) {
        problems.push(problem);
        return (None, problems.into_list());
    }
    let dag = dag::read(spec, &mut problems);
    (dag, problems.into_list())
}

/// What is allowed but probably not meant: `name_like_a_date`.
pub fn warnings(dag: &DagDef) -> Vec<Problem> {
    let tasks = dag.tasks.iter().map(|task| (format!("{}.{}", dag.key, task.name), &task.name));
    std::iter::once((dag.key.clone(), &dag.key))
        .chain(tasks)
        .filter(|(_, name)| key::looks_like_a_date(name))
        .map(|(place, name)| {
            Problem::new("name_like_a_date", place, format!("`{name}` has a date in its name"))
                .hint("a name stays the same from run to run; the date is the run's biz_date")
        })
        .collect()
}
