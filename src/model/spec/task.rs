//! One task.

use std::collections::BTreeMap;

use serde_json::Value;

use super::policy::Layer;
use super::reader::{Reader, printable};
use super::slots::Known;
use super::{conditions, dag, edges, map, policy, types};
use crate::model::json::{kind_of, nearest, shown};
use crate::model::key::{LONGEST, NameKind, check_asset, check_name, split_versioned};
use crate::model::{
    Fingerprint, GATE, Mapping, PROBE, Param, ParamType, TaskDef, TaskPolicy, params,
};

const OWN_FIELDS: &[&str] = &[
    "name",
    "type",
    "handler",
    "doc",
    "owner",
    "labels",
    "category",
    "produces",
    "resource",
    "resource_key",
    "config",
    "params",
    "param_schema",
    "inputs",
    "injected",
    "depends_on",
    "map",
    "shards",
    "version",
    "code_hash",
    "source",
    "ext",
    "fingerprint",
    "interval",
    "interval_ms",
    "interval_sec",
];

/// The type of a task that does nothing.
const NOOP: &str = "noop";

const PARAM_FIELDS: &[&str] = &["name", "type", "nullable", "required", "default", "choices"];

/// Arguments that a run fills by itself.
const INJECTED: &[&str] = &[
    "biz_date",
    "nominal_at",
    "interval_start",
    "interval_end",
    "ctx",
    "shardIndex",
    "shardTotal",
    "shard_index",
    "shard_total",
];

/// Those of them that only a task in shards has.
const OF_SHARDS: usize = 4;

/// What a task takes from its dag.
pub(super) struct Around {
    /// The dag's key, or what stands for it where it is wrong.
    pub dag: String,
    /// The dag's owner.
    pub owner: Option<String>,
    /// Defaults of the dag and of the project.
    pub layers: [Layer; 2],
    /// The pools and limits that exist, if known.
    pub known: Known,
}

/// Reads a task; none where its name cannot be read.
pub(super) fn read(
    dag: &mut Reader<'_, '_>,
    at: usize,
    value: &Value,
    around: &Around,
) -> Option<TaskDef> {
    let raw = value.get("name").and_then(Value::as_str);
    let source = value.get("source").and_then(Value::as_str);
    let place = match raw {
        Some(raw) if !raw.is_empty() => dag.place_of(&printable(raw)),
        _ => dag.place_of(&format!("tasks[{at}]")),
    };
    let fields: Vec<&'static str> = [OWN_FIELDS, policy::FIELDS].concat();
    let mut reader = dag.inside_at(value, &place, &fields, source)?;
    let r = &mut reader;
    let (name, authored_version) = name(r, raw, &around.dag);
    let handler = handler(r);
    let has_handler = r.get("handler").is_some();
    let (kind, type_label) = types::read(r, has_handler);
    if kind == "python" && !has_handler && r.get("type").is_none_or(|given| given == "python") {
        let hint = "name a function as `package.module:function`";
        r.advise("handler", "missing_field", "the task has no handler to run", hint);
    }
    conditions::handler_of(r, &kind, has_handler);
    let poll_ms = conditions::poll(r, &kind);
    let fingerprint = fingerprint(r, &kind);
    let mut labels = dag::labels(r);
    labels.extend(type_label.filter(|label| !labels.contains(label)));
    labels.sort();
    let doc = r.prose("doc", 65_536);
    let owner = dag::owner(r).or_else(|| around.owner.clone());
    let category = r.raw_text("category").and_then(|text| {
        let checked = check_name(NameKind::Category, text, "");
        r.take("category", checked)
    });
    let produces = produces(r);
    let resource = r.line("resource", 512);
    let resource_key = r.line("resource_key", 512);
    let config = r.object("config");
    let params = r.object("params");
    let mut param_schema = schema(r);
    let (map, listing) = map::read(r, &around.dag);
    let (inputs, dependencies) = edges::read(r, &around.dag, listing);
    let mut injected = injected(r);
    map::fill(r, map.as_ref(), &mut param_schema, &mut injected);
    arguments(r, &params, &param_schema, &inputs, &injected, map.as_ref());
    let policy = policy(r, around);
    let task = TaskDef {
        name: name.clone().unwrap_or_default(),
        kind,
        handler,
        doc,
        owner,
        labels,
        produces,
        category,
        resource,
        resource_key,
        config,
        params,
        param_schema,
        inputs,
        injected,
        map,
        dependencies,
        policy,
        fingerprint,
        poll_ms,
        authored_version,
        code_hash: r.line("code_hash", 256),
        source: r.line("source", 4_096),
        ext: r.object("ext"),
    };
    name.map(|_| task)
}

fn policy(r: &mut Reader<'_, '_>, around: &Around) -> TaskPolicy {
    let own = policy::read(r, &around.known);
    let [dag, project] = &around.layers;
    policy::resolve(r, [&own, dag, project])
}

/// The name, and the version: given, or read off a name such as `order.settle.v2`.
fn name(r: &mut Reader<'_, '_>, raw: Option<&str>, dag: &str) -> (Option<String>, Option<u32>) {
    let version = r.count("version", 1, i32::MAX as u32);
    let Some(raw) = raw.filter(|raw| !raw.is_empty()) else {
        match r.get("name") {
            Some(Value::String(_)) => r.report("name", "bad_name", "the task name is empty"),
            Some(_) => r.report("name", "wrong_type", "the task name is not text"),
            None => r.report("name", "missing_field", "the task has no name"),
        }
        return (None, version);
    };
    // The dag's own name in front is no mistake, but adds nothing.
    let inside = raw.strip_prefix(dag).and_then(|rest| rest.strip_prefix('.')).unwrap_or(raw);
    let full = format!("{dag}.{inside}");
    let (key, in_name) = split_versioned(&full);
    let name = key.get(dag.len() + 1..).unwrap_or_default();
    let name = match check_name(NameKind::Task, name, &r.place) {
        Ok(name) => Some(name),
        Err(problem) => {
            r.push(problem);
            None
        }
    };
    let length = name.as_ref().map_or(0, |name| dag.chars().count() + 1 + name.chars().count());
    if length > LONGEST {
        let message = format!("the key `dag.task` has {length} characters, at most {LONGEST} fit");
        r.report("name", "bad_name", message);
    }
    if let (Some(given), Some(read)) = (version, in_name)
        && given != read
    {
        let message = format!("version = {given}, but the name says v{read}");
        r.advise("version", "version_conflict", message, "leave the version out of the name");
    }
    (name, version.or(in_name))
}

/// Where the fingerprint of its output comes from; what calls nothing has no output.
fn fingerprint(r: &mut Reader<'_, '_>, kind: &str) -> Option<Fingerprint> {
    let words = Fingerprint::ALL.iter().map(|word| (word.as_str(), *word));
    let word =
        r.word("fingerprint", "bad_fingerprint", &words.collect::<Vec<(&'static str, _)>>())?;
    if matches!(kind, GATE | PROBE | NOOP) {
        let message = format!("a task of type {kind} has no output to tell by a fingerprint");
        let hint = "declare it with the task that writes what this one waits for";
        r.advise("fingerprint", "no_output", message, hint);
        return None;
    }
    Some(word)
}

fn handler(r: &mut Reader<'_, '_>) -> Option<String> {
    let text = r.raw_text("handler")?;
    let bad = |c: char| c.is_control() || c.is_whitespace();
    if text.is_empty() || text.chars().count() > 512 || text.chars().any(bad) {
        let message = format!("{} is not a handler", shown(&Value::from(text)));
        r.advise("handler", "bad_handler", message, "write `package.module:function`");
        return None;
    }
    Some(text.to_owned())
}

/// The assets that it makes ready: a name, or a list of names.
fn produces(r: &mut Reader<'_, '_>) -> Vec<String> {
    let given = match r.get("produces") {
        Some(Value::String(one)) => vec![("produces".to_owned(), one.as_str())],
        _ => r.texts("produces"),
    };
    let mut assets: Vec<String> = Vec::new();
    for (field, text) in given {
        let checked = check_asset(text, "");
        let Some(name) = r.take(&field, checked) else { continue };
        if !assets.contains(&name) {
            assets.push(name);
        }
    }
    assets
}

fn injected(r: &mut Reader<'_, '_>) -> Vec<String> {
    let mut injected: Vec<String> = Vec::new();
    for (field, text) in r.texts("injected") {
        if !INJECTED.contains(&text) {
            let message = format!("a run does not fill `{}`", printable(text));
            let hint = match nearest(text, INJECTED.iter().copied()) {
                Some(like) => format!("did you mean `{like}`?"),
                None => {
                    let always = INJECTED.len() - OF_SHARDS;
                    format!("it fills {}", INJECTED[..always].join(", "))
                }
            };
            r.advise(&field, "unknown_injected", message, hint);
        } else if !injected.iter().any(|have| have == text) {
            injected.push(text.to_owned());
        }
    }
    injected
}

fn schema(r: &mut Reader<'_, '_>) -> Vec<Param> {
    let mut schema = Vec::new();
    for (at, value) in r.list("param_schema").iter().enumerate() {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = match name {
            "" => r.place_of(&format!("param_schema[{at}]")),
            name => r.place_of(&printable(name)),
        };
        let param = r.inside(value, &place, PARAM_FIELDS).and_then(|mut inner| param(&mut inner));
        schema.extend(param);
    }
    for problem in params::check_schema(&schema, &r.place) {
        r.push(problem);
    }
    schema
}

fn param(r: &mut Reader<'_, '_>) -> Option<Param> {
    let types: Vec<(&'static str, ParamType)> =
        ParamType::ALL.iter().map(|kind| (kind.as_str(), *kind)).collect();
    let kind = match r.get("type") {
        Some(_) => r.word("type", "unknown_param_type", &types),
        None => {
            r.report("type", "missing_field", "the parameter has no type");
            None
        }
    };
    let name = match r.get("name") {
        Some(Value::String(name)) => Some(name.clone()),
        Some(other) => {
            let message = format!("expected text, found {}", kind_of(other));
            r.report("name", "wrong_type", message);
            None
        }
        None => {
            r.report("name", "missing_field", "the parameter has no name");
            None
        }
    };
    let nullable = r.flag("nullable").unwrap_or_default();
    let default = r.get("default").cloned();
    let has_default = default.is_some() || r.is_null("default");
    let required = r.flag("required").unwrap_or(!has_default);
    let choices = r.list("choices").to_vec();
    if required && has_default {
        let message = "a parameter with a default is not required";
        r.advise("required", "bad_parameter", message, "take out `required` or the default");
        return None;
    }
    Some(Param { name: name?, kind: kind?, nullable, required, default, choices })
}

/// An argument of the handler comes from one place.
fn arguments(
    r: &mut Reader<'_, '_>,
    params: &BTreeMap<String, Value>,
    schema: &[Param],
    inputs: &BTreeMap<String, String>,
    injected: &[String],
    map: Option<&Mapping>,
) {
    // The list itself is no argument: it may have the name of the one that gets its items.
    let list = map.and_then(Mapping::param);
    let item = map.and_then(|map| map.argument.as_ref());
    let all = (params.keys().map(|name| (name, "params")))
        .chain(schema.iter().map(|param| (&param.name, "param_schema")))
        .chain(item.filter(|name| list != Some(name.as_str())).map(|name| (name, "map")))
        .chain(inputs.keys().map(|name| (name, "inputs")))
        .chain(injected.iter().map(|name| (name, "injected")));
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, from) in all {
        match seen.insert(name, from) {
            // Twice in the schema is the schema's own problem.
            Some(first) if first != from => {
                let message = format!("`{name}` is in {first} and in {from}");
                let hint = "an argument of the handler comes from one place";
                r.advise(&printable(name), "duplicate_parameter", message, hint);
            }
            _ => {}
        }
    }
}
