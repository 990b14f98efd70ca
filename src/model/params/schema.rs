//! Whether the parameters themselves make sense.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::value::fit;
use super::{Param, ParamType};
use crate::model::json::{nearest, printable};
use crate::model::key::{NameKind, check_name};
use crate::model::{Binding, DagDef, Problem, ScheduleDef};

/// Names that a run fills with something of its own; `biz_date` only as a date.
const RESERVED: &[&str] = &["ctx", "nominal_at", "interval_start", "interval_end"];

/// Everything wrong with the parameters of a task: `bad_name`, `duplicate_parameter`,
/// `reserved_name`, `bad_choices`, `bad_default`.
pub fn check_schema(schema: &[Param], place: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for param in schema {
        let place = format!("{place}.{}", printable(&param.name));
        problems.extend(check_name(NameKind::Param, &param.name, &place).err());
        if !names.insert(param.name.as_str()) {
            let message = format!("the parameter `{}` is there twice", param.name);
            problems.push(Problem::new("duplicate_parameter", &place, message));
        }
        let date = matches!(param.name.as_str(), "biz_date" | "bizDate");
        if RESERVED.contains(&param.name.as_str()) || (date && param.kind != ParamType::Date) {
            let message = format!("`{}` is filled by the run", param.name);
            let hint = if date { "its type is date" } else { "give the parameter another name" };
            problems.push(Problem::new("reserved_name", &place, message).hint(hint));
        }
        let choices = choices(param, &place);
        // A default cannot be judged by choices that are wrong themselves.
        if choices.is_empty() {
            problems.extend(default(param, &place));
        }
        problems.extend(choices);
    }
    problems
}

fn choices(param: &Param, place: &str) -> Vec<Problem> {
    let bad = |message: String| Problem::new("bad_choices", place, message);
    if param.kind == ParamType::Enum && param.choices.is_empty() {
        return vec![bad("an enum has no choices".to_owned()).hint("list its values in `choices`")];
    }
    let free = Param { choices: Vec::new(), ..param.clone() };
    let mut problems: Vec<Problem> = (param.choices.iter())
        .filter_map(|choice| fit(&free, choice, place).err())
        .map(|problem| bad(format!("a choice does not fit: {}", problem.message)))
        .collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for choice in &param.choices {
        if !seen.insert(choice.to_string()) {
            problems.push(bad(format!("the choice {choice} is there twice")));
        }
    }
    problems
}

fn default(param: &Param, place: &str) -> Option<Problem> {
    if param.required {
        return None;
    }
    let value = param.default.as_ref().unwrap_or(&Value::Null);
    let problem = fit(param, value, place).err()?;
    let message = format!("the default does not fit: {}", problem.message);
    let hint = match value {
        Value::Null => Some("make it nullable, give it a default or require it".to_owned()),
        _ => problem.hint,
    };
    Some(Problem { code: "bad_default", message, hint, ..problem })
}

/// What the schedules of a dag give, against what its tasks take: `required_without_value`,
/// `unknown_parameter`, and values that do not fit. `place` is the dag's.
pub(crate) fn check_given(dag: &DagDef, place: &str) -> Vec<Problem> {
    let mut by_name: BTreeMap<&str, Vec<(&str, &Param)>> = BTreeMap::new();
    for task in &dag.tasks {
        for param in &task.param_schema {
            by_name.entry(&param.name).or_default().push((&task.name, param));
        }
    }
    let mut problems = Vec::new();
    for (schedule, binding) in bindings(dag) {
        for (name, value) in &binding.params {
            let place = format!("{place}.{}.{}", schedule.name, printable(name));
            let fired = |task: &str| binding.task.as_deref().is_none_or(|only| only == task);
            match by_name.get(name.as_str()) {
                Some(users) if users.iter().any(|(task, _)| fired(task)) => {
                    // Tasks that agree on the type find the same fault.
                    let faults = users
                        .iter()
                        .filter(|(task, _)| fired(task))
                        .filter_map(|(_, param)| fit(param, value, &place).err());
                    problems.extend(faults.take(1));
                }
                _ => problems.push(unknown(name, by_name.keys().copied(), &place)),
            }
        }
    }
    for (name, users) in &by_name {
        for (task, param) in
            users.iter().filter(|(_, param)| param.required && !param.is_biz_date())
        {
            let without = |(_, binding): &(&ScheduleDef, &Binding)| {
                let fires = match &binding.task {
                    Some(only) => only == task,
                    None => !dag.has_own_schedule(task),
                };
                fires && !binding.params.contains_key(*name)
            };
            let Some((schedule, _)) = bindings(dag).find(without) else { continue };
            let message = format!(
                "`{name}` is required and has no default, but runs of the schedule `{}` have no \
                 value for it",
                schedule.name
            );
            let hint = "give it a default, or a value in the schedule's `params`";
            let place = format!("{place}.{task}.{}", printable(&param.name));
            problems.push(Problem::new("required_without_value", place, message).hint(hint));
        }
    }
    problems
}

/// What each schedule of a dag fires.
fn bindings(dag: &DagDef) -> impl Iterator<Item = (&ScheduleDef, &Binding)> {
    dag.schedules.iter().flat_map(|each| each.bindings.iter().map(move |bound| (each, bound)))
}

/// Parameters that a hint lists.
const SHOWN: usize = 8;

/// A name that no parameter has.
pub(super) fn unknown<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    place: &str,
) -> Problem {
    let message = format!("there is no parameter `{}`", printable(name));
    let problem = Problem::new("unknown_parameter", place, message);
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(like) => problem.hint(format!("did you mean `{like}`?")),
        None if known.is_empty() => problem.hint("the dag takes no parameters"),
        None if known.len() <= SHOWN => problem.hint(format!("there is `{}`", known.join("`, `"))),
        None => problem,
    }
}
