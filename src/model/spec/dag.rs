//! The dag's own fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::policy::Layer;
use super::reader::{Problems, Reader, printable, with_source};
use super::slots::Known;
use super::task::Around;
use super::{MOST_TASKS, map, policy, schedule, task};
use crate::model::json::nearest;
use crate::model::key::{NameKind, check_name};
use crate::model::schedule::variant;
use crate::model::{DagDef, Problem, ScheduleDef, TaskDef, params};

const FIELDS: &[&str] = &[
    "name",
    "title",
    "doc",
    "owner",
    "labels",
    "timezone",
    "schedule",
    "schedules",
    "start_date",
    "end_date",
    "biz_offset",
    "max_active_runs",
    "source_file",
    "defaults",
    "project_defaults",
    "known_pools",
    "known_limits",
    "tasks",
];

/// The default of `max_active_runs`.
const ACTIVE_RUNS: u32 = 16;

/// Reads a dag; none where there is no object. One with a wrong name goes by what can be shown.
pub(super) fn read(spec: &Value, problems: &mut Problems) -> Option<DagDef> {
    // Before anything is read: every place begins with the name.
    let raw = spec.get("name").and_then(Value::as_str).unwrap_or_default();
    let key = match check_name(NameKind::Dag, raw, "") {
        Ok(key) => key,
        Err(problem) => {
            let shown: String = printable(raw).chars().take(32).collect();
            let place = if raw.is_empty() { "dag".to_owned() } else { shown };
            if !raw.is_empty() {
                problems.push(Problem { place: place.clone(), ..problem });
            } else if spec.is_object() {
                problems.push(missing_name(spec));
            }
            place
        }
    };
    let place = key.as_str();
    let mut reader = Reader::open(spec, place, FIELDS, None, problems)?;
    let r = &mut reader;
    let title = r.line("title", 512);
    let doc = r.prose("doc", 65_536);
    let owner = owner(r);
    let labels = labels(r);
    let timezone = schedule::timezone(r, "timezone").unwrap_or_else(|| "UTC".to_owned());
    let max_active_runs = r.count("max_active_runs", 1, u32::MAX).unwrap_or(ACTIVE_RUNS);
    let source_file = r.line("source_file", 4_096);
    let biz_offset = schedule::biz_offset(r);
    let schedules = schedule::read(r, &timezone, biz_offset);
    let calendars = schedules.iter().filter_map(|schedule| schedule.rule.calendar.as_ref());
    let calendars = calendars.map(|calendar| (calendar.name.clone(), calendar.clone())).collect();
    let known = Known { calendars, ..Known::read(r) };
    let own = defaults(r, "defaults", &known);
    let project = defaults(r, "project_defaults", &known);
    let around = Around { dag: key.clone(), owner: owner.clone(), layers: [own, project], known };
    let tasks = tasks(r, &around);
    resources(r, &tasks);
    map::sources(r, &tasks);
    bound_tasks(r, &schedules, &tasks);
    let dag = DagDef {
        key: key.clone(),
        title,
        doc,
        owner,
        labels,
        timezone,
        biz_offset,
        max_active_runs,
        source_file,
        schedules,
        tasks,
    };
    for problem in params::check_given(&dag, place) {
        let of = |task: &&TaskDef| problem.place.starts_with(&format!("{place}.{}.", task.name));
        let task =
            dag.tasks.iter().find(|task| problem.code == "required_without_value" && of(task));
        r.push(with_source(problem, task.and_then(|task| task.source.as_deref())));
    }
    Some(dag)
}

fn missing_name(spec: &Value) -> Problem {
    match spec.get("name") {
        None | Some(Value::Null) => {
            Problem::new("missing_field", "dag.name", "the dag has no name")
        }
        Some(Value::String(_)) => Problem::new("bad_name", "dag.name", "the dag name is empty"),
        Some(_) => Problem::new("wrong_type", "dag.name", "the dag name is not text"),
    }
}

/// Who answers for it. Names come from directories and mail programs: what does not print goes.
pub(super) fn owner(r: &mut Reader<'_, '_>) -> Option<String> {
    let text = r.raw_text("owner")?;
    let owner: String =
        text.chars().filter(|c| !c.is_control() && !crate::model::key::turns_text(*c)).collect();
    let owner = owner.trim();
    let length = owner.chars().count();
    if length > 128 {
        r.report(
            "owner",
            "too_long",
            format!("the owner has {length} characters, at most 128 fit"),
        );
        return None;
    }
    (!owner.is_empty()).then(|| owner.to_owned())
}

/// Labels: `key` or `key=value`, sorted, each once.
pub(super) fn labels(r: &mut Reader<'_, '_>) -> Vec<String> {
    let mut labels = BTreeSet::new();
    for (field, text) in r.texts("labels") {
        let length = text.chars().count();
        let key = text.split('=').next().unwrap_or_default();
        let unprintable = text.chars().any(|c| c.is_control() || crate::model::key::turns_text(c));
        if length > 128 {
            r.report(
                &field,
                "bad_label",
                format!("the label has {length} characters, at most 128 fit"),
            );
        } else if unprintable {
            r.report(&field, "bad_label", "the label has characters that do not print");
        } else if key.trim().is_empty() || text.trim() != text {
            let message = format!("`{text}` is not a label");
            r.advise(
                &field,
                "bad_label",
                message,
                "write `key` or `key=value`, without spaces around",
            );
        } else {
            labels.insert(text.to_owned());
        }
    }
    labels.into_iter().collect()
}

fn defaults(r: &mut Reader<'_, '_>, field: &str, known: &Known) -> Layer {
    let Some(value) = r.get(field) else { return Layer::default() };
    let place = r.place_of(field);
    match r.inside(value, &place, policy::FIELDS) {
        Some(mut inner) => policy::read(&mut inner, known),
        None => Layer::default(),
    }
}

fn tasks(r: &mut Reader<'_, '_>, around: &Around) -> Vec<TaskDef> {
    if r.get("tasks").is_none() {
        r.report("tasks", "missing_field", "the dag has no list of tasks");
        return Vec::new();
    }
    let given = r.list("tasks");
    if given.len() > MOST_TASKS {
        let message = format!("{} tasks, at most {MOST_TASKS} fit", given.len());
        r.report("tasks", "too_many_tasks", message);
        return Vec::new();
    }
    given.iter().enumerate().filter_map(|(at, value)| task::read(r, at, value, around)).collect()
}

/// Several tasks may write one asset, if `resource_key` tells them apart.
fn resources(r: &mut Reader<'_, '_>, tasks: &[TaskDef]) {
    let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for task in tasks {
        let Some(resource) = &task.resource else { continue };
        let key = task.resource_key.as_deref().unwrap_or_default();
        if let Some(first) = seen.insert((resource, key), &task.name) {
            let message = format!("`{first}` writes the resource `{resource}` too");
            let hint = "give each a `resource_key` of its own";
            let field = format!("{}.resource", task.name);
            r.advise(&field, "duplicate_resource", message, hint);
        }
    }
}

/// Schedules fire tasks that there are, each once.
fn bound_tasks(r: &mut Reader<'_, '_>, schedules: &[ScheduleDef], tasks: &[TaskDef]) {
    for schedule in schedules {
        let mut seen = BTreeSet::new();
        for binding in &schedule.bindings {
            let Some(name) = &binding.task else { continue };
            let field = format!("{}.tasks", schedule.name);
            let names = || tasks.iter().map(|task| task.name.as_str());
            if !names().any(|task| task == name) {
                let message = format!("there is no task `{}`", printable(name));
                match nearest(name, names()) {
                    Some(like) => {
                        r.advise(
                            &field,
                            "unknown_task",
                            message,
                            format!("did you mean `{like}`?"),
                        );
                    }
                    None => r.report(&field, "unknown_task", message),
                }
            } else if !seen.insert((name, variant(&binding.params))) {
                let message = format!("`{name}` is there twice with the same values");
                r.report(&field, "duplicate_binding", message);
            }
        }
    }
}
