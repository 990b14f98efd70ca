//! The values of a run, checked before anything is queued.

use serde_json::{Map, Value};

use super::Param;
use super::schema::unknown;
use super::value::fit;
use crate::model::json::{self, LARGEST, printable};
use crate::model::{Date, Problem, TaskDef};

/// The value of every parameter: what was given, else its default.
///
/// # Errors
/// All at once: `missing_parameter`, `unknown_parameter`, `wrong_type`, `bad_date` and the like,
/// `not_a_choice`, `too_large`, `bad_shard`.
pub fn bind(
    schema: &[Param],
    given: &Map<String, Value>,
    place: &str,
) -> Result<Map<String, Value>, Vec<Problem>> {
    let mut problems = total(given, place);
    problems.extend(unknowns(&[schema], given, place));
    let bound = fill(schema, given, place, &mut problems);
    if problems.is_empty() { Ok(bound) } else { Err(problems) }
}

/// The same for all tasks of a dag. What no task knows is unknown; what one knows is given to
/// those that do. Returned is what was given, as its types have it: defaults stay with the
/// definition, which never changes.
///
/// # Errors
/// As [`bind`].
pub fn bind_dag<'a>(
    dag: &str,
    tasks: impl Iterator<Item = &'a TaskDef> + Clone,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Problem>> {
    let mut problems = total(given, dag);
    let schemas: Vec<&[Param]> = tasks.clone().map(|task| task.param_schema.as_slice()).collect();
    problems.extend(unknowns(&schemas, given, dag));
    let mut kept = Map::new();
    for task in tasks.filter(|task| !task.param_schema.is_empty()) {
        let place = format!("{dag}.{}", task.name);
        let bound = fill(&task.param_schema, given, &place, &mut problems);
        kept.extend(bound.into_iter().filter(|(name, _)| given.contains_key(name)));
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

/// Gives the run's business date to the parameters that stand for it and have no value.
pub fn fill_biz_date<'a>(
    schema: impl IntoIterator<Item = &'a Param>,
    given: &mut Map<String, Value>,
    biz_date: Date,
) {
    for param in schema.into_iter().filter(|param| param.is_biz_date()) {
        given.entry(param.name.clone()).or_insert_with(|| biz_date.to_string().into());
    }
}

fn total(given: &Map<String, Value>, place: &str) -> Vec<Problem> {
    let bytes: usize =
        given.iter().map(|(name, value)| name.len() + 4 + json::measure(value).bytes).sum();
    if bytes <= LARGEST {
        return Vec::new();
    }
    let message = format!("{bytes} bytes of parameters, at most {LARGEST} fit");
    let hint = "pass a path or a key and let the task read the rest";
    vec![Problem::new("too_large", place, message).hint(hint)]
}

fn unknowns(schemas: &[&[Param]], given: &Map<String, Value>, place: &str) -> Vec<Problem> {
    let known: std::collections::BTreeSet<&str> =
        schemas.iter().flat_map(|schema| schema.iter()).map(|param| param.name.as_str()).collect();
    (given.keys().filter(|name| !known.contains(name.as_str())))
        .map(|name| unknown(name, known.iter().copied(), &format!("{place}.{}", printable(name))))
        .collect()
}

fn fill(
    schema: &[Param],
    given: &Map<String, Value>,
    place: &str,
    problems: &mut Vec<Problem>,
) -> Map<String, Value> {
    let mut bound = Map::new();
    for param in schema {
        let place = format!("{place}.{}", printable(&param.name));
        let value = match (given.get(&param.name), param.required) {
            (Some(value), _) => value,
            (None, false) => param.default.as_ref().unwrap_or(&Value::Null),
            (None, true) => {
                let message = format!("the parameter `{}` is required", param.name);
                problems.push(Problem::new("missing_parameter", place, message));
                continue;
            }
        };
        match fit(param, value, &place) {
            Ok(value) => {
                bound.insert(param.name.clone(), value);
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(shards(&bound, place));
    bound
}

/// A shard counts from 0 and is one of its total.
fn shards(bound: &Map<String, Value>, place: &str) -> Option<Problem> {
    let pairs = [("shardIndex", "shardTotal"), ("shard_index", "shard_total")];
    pairs.iter().find_map(|(index_name, total_name)| {
        let index = bound.get(*index_name)?.as_i64()?;
        let total = bound.get(*total_name)?.as_i64()?;
        (index < 0 || index >= total).then(|| {
            let message =
                format!("{index_name} = {index} is not one of {total_name} = {total} shards");
            Problem::new("bad_shard", format!("{place}.{index_name}"), message)
                .hint(format!("it goes from 0 to {total_name} - 1"))
        })
    })
}
