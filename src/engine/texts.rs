//! The texts of a task that may hold placeholders: the strings in `params` and `config`, and the
//! `dedup_key`. Checked when the task is registered; `fill` fills them in when it starts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::plan::local;
use crate::calendar::{Outside, Template};
use crate::graph::Nearest;
use crate::model::{DagDef, EdgeKind, Problem, SpecError, TaskDef};

/// Which part of a task a text stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Params,
    Config,
    DedupKey,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Params => "params",
            Part::Config => "config",
            Part::DedupKey => "dedup_key",
        }
    }
}

/// Everything wrong with the placeholders of a dag, and the task that each belongs to.
pub(super) fn check(dag: &DagDef) -> Vec<(Problem, &TaskDef)> {
    let mut problems = Vec::new();
    for task in &dag.tasks {
        let mut names = None;
        walk(task, &mut |part, path, text| {
            let names = names.get_or_insert_with(|| Names::of(&dag.key, task));
            let place = format!("{}.{}.{path}", dag.key, task.name);
            let found = match Template::parse(text, &[]) {
                Err(SpecError(found)) => found,
                Ok(template) => {
                    (template.outside()).filter_map(|asked| names.refuse(part, asked)).collect()
                }
            };
            problems.extend(found.into_iter().map(|problem| {
                // The text knows the placeholder; where the text stands is known here.
                let message = match problem.place.as_str() {
                    "" => problem.message,
                    source => format!("`{source}`: {}", problem.message),
                };
                (Problem { place: place.clone(), message, ..problem }, task)
            }));
        });
    }
    problems
}

/// Whether a task has any text to be filled in.
pub fn has_texts(task: &TaskDef) -> bool {
    let dollar = |text: &str| text.contains('$');
    task.params.values().chain(task.config.values()).any(has_dollar)
        || task.policy.dedup_key.as_deref().is_some_and(dollar)
}

/// Asked at each start, so without the paths that `walk` makes.
fn has_dollar(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('$'),
        Value::Array(items) => items.iter().any(has_dollar),
        Value::Object(map) => map.values().any(has_dollar),
        _ => false,
    }
}

/// The upstreams whose results the texts of a task ask for.
pub fn results_asked(dag: &str, task: &TaskDef) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    if !has_texts(task) {
        return asked;
    }
    let mut upstreams = None;
    walk(task, &mut |_, _, text| {
        // What cannot be read is told when it is filled in.
        let Ok(template) = Template::parse(text, &[]) else { return };
        for outside in template.outside() {
            if let Outside::Result(key) = outside {
                let known = upstreams.get_or_insert_with(|| upstreams_of(dag, task));
                let found = split(key, |name| known.contains(name));
                asked.extend(found.map(|(name, _)| name.to_owned()));
            }
        }
    });
    asked
}

/// Calls `visit` with every text that has a dollar: its part, its path in the task, itself.
pub(super) fn walk(task: &TaskDef, visit: &mut dyn FnMut(Part, &str, &str)) {
    for (part, values) in [(Part::Params, &task.params), (Part::Config, &task.config)] {
        for (name, value) in values {
            inside(part, &format!("{}.{name}", part.name()), value, visit);
        }
    }
    if let Some(text) = task.policy.dedup_key.as_deref().filter(|text| text.contains('$')) {
        visit(Part::DedupKey, Part::DedupKey.name(), text);
    }
}

/// Values of a definition have a bounded depth, see `model::json`.
fn inside(part: Part, path: &str, value: &Value, visit: &mut dyn FnMut(Part, &str, &str)) {
    match value {
        Value::String(text) if text.contains('$') => visit(part, path, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                inside(part, &format!("{path}[{at}]"), item, visit);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                inside(part, &format!("{path}.{name}"), item, visit);
            }
        }
        _ => {}
    }
}

/// Names that the texts of one task may use.
struct Names<'a> {
    injected: &'a [String],
    runtime: BTreeSet<&'a str>,
    fixed: BTreeSet<&'a str>,
    upstreams: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(dag: &str, task: &'a TaskDef) -> Self {
        Names {
            injected: &task.injected,
            runtime: (task.param_schema.iter().map(|param| param.name.as_str()))
                .chain(task.map.iter().flat_map(|map| map.names()))
                .collect(),
            fixed: task.params.keys().map(String::as_str).collect(),
            upstreams: upstreams_of(dag, task),
        }
    }

    fn refuse(&self, part: Part, asked: &Outside) -> Option<Problem> {
        match asked {
            Outside::Param(key) => self.refuse_param(part, key),
            Outside::Result(key) => {
                let problem = || {
                    let message =
                        format!("`${{result.{key}}}`: the task waits for no `{}`", first(key));
                    Problem::new("unknown_result", "", message)
                };
                let hint = "only what the task waits for in the same run has a result: \
                            name it in `depends_on`";
                let known = &self.upstreams;
                (split(key, |name| known.contains(name)).is_none())
                    .then(|| near(problem(), known, key, hint))
            }
            Outside::Secret(name) => (!is_variable(name)).then(|| {
                let message = format!("`${{secret:{name}}}`: the name fits no variable");
                Problem::new("bad_secret", "", message)
                    .hint("letters, digits and `_`: it is read from MAINSPRING_SECRET_<name>")
            }),
            Outside::Name(_) => None,
        }
    }

    fn refuse_param(&self, part: Part, key: &str) -> Option<Problem> {
        let runtime = |name: &str| self.runtime.contains(name);
        let fixed = |name: &str| self.fixed.contains(name);
        let in_params = part == Part::Params;
        if split(key, |name| runtime(name) || (!in_params && fixed(name))).is_some() {
            return None;
        }
        let name = first(key);
        let code = "unknown_parameter";
        if split(key, fixed).is_some() {
            let message = format!("`${{params.{key}}}`: `{name}` is a value beside this one");
            return Some(Problem::new(code, "", message).hint(
                "values of `params` may use parameters of the run; `config` and `dedup_key` may \
                 use both",
            ));
        }
        let message = format!("`${{params.{key}}}`: the task has no parameter `{name}`");
        if self.injected.iter().any(|filled| filled == name) && name != "ctx" {
            let hint = format!("the run's own is `${{{name}}}`");
            return Some(Problem::new(code, "", message).hint(hint));
        }
        let mut known = self.runtime.clone();
        if !in_params {
            known.extend(&self.fixed);
        }
        let hint = "a parameter of the run is an argument of the handler, or in `param_schema`";
        Some(near(Problem::new(code, "", message), &known, key, hint))
    }
}

fn near(problem: Problem, known: &BTreeSet<&str>, key: &str, otherwise: &str) -> Problem {
    let names: Vec<&str> = known.iter().copied().collect();
    match Nearest::new(&names).find(first(key)) {
        Some(name) => problem.hint(format!("did you mean `{name}`?")),
        None => problem.hint(otherwise),
    }
}

fn first(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// Tasks of the same run that this one waits for.
pub(super) fn upstreams_of<'a>(dag: &str, task: &'a TaskDef) -> BTreeSet<&'a str> {
    (task.dependencies.iter())
        .filter(|edge| edge.is_here() && edge.kind != EdgeKind::Weak)
        .filter_map(|edge| local(dag, &edge.upstream))
        .collect()
}

/// The longest beginning of `a.b.c` that is known, and the fields behind it: names have dots too.
pub(super) fn split(key: &str, known: impl Fn(&str) -> bool) -> Option<(&str, Option<&str>)> {
    if known(key) {
        return Some((key, None));
    }
    (key.rmatch_indices('.'))
        .map(|(at, _)| (&key[..at], Some(&key[at + 1..])))
        .find(|(name, _)| known(name))
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// A part of a task with every text replaced by what `put` makes of it.
pub(super) fn replaced(
    part: Part,
    values: &BTreeMap<String, Value>,
    put: &mut dyn FnMut(&str, &str) -> Value,
) -> BTreeMap<String, Value> {
    (values.iter())
        .map(|(name, value)| {
            (name.clone(), put_inside(&format!("{}.{name}", part.name()), value, put))
        })
        .collect()
}

fn put_inside(path: &str, value: &Value, put: &mut dyn FnMut(&str, &str) -> Value) -> Value {
    match value {
        Value::String(text) if text.contains('$') => put(path, text),
        Value::Array(items) => (items.iter().enumerate())
            .map(|(at, item)| put_inside(&format!("{path}[{at}]"), item, put))
            .collect(),
        Value::Object(map) => (map.iter())
            .map(|(name, item)| (name.clone(), put_inside(&format!("{path}.{name}"), item, put)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
