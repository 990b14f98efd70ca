//! That a task is run once for each item of a list, or in so many shards.

use std::collections::BTreeMap;

use serde_json::Value;

use super::edges;
use super::reader::{Reader, printable};
use crate::model::json::{LARGEST, kind_of, measure, nearest, shown};
use crate::model::key::{NameKind, check_name};
use crate::model::{
    MOST_ITEMS, Mapping, Over, Param, ParamType, SHARD_INDEX, SHARD_TOTAL, TaskDef,
};

const FIELDS: &[&str] = &["argument", "items", "param", "result", "max_active"];

/// Where a list may come from, and how that is written.
const SOURCES: &[&str] = &["items", "param", "result"];

/// Shards of one task at most.
const MOST_SHARDS: u32 = 10_000;

/// Reads `map` or `shards`. The key of the task whose result is the list comes with it: that is an
/// edge as well.
pub(super) fn read(r: &mut Reader<'_, '_>, dag: &str) -> (Option<Mapping>, Option<String>) {
    let shards = r.count("shards", 1, MOST_SHARDS);
    let Some(value) = r.get("map") else {
        let over = shards.map(Over::Shards);
        return (over.map(|over| Mapping { argument: None, over, max_active: None }), None);
    };
    if r.get("shards").is_some() {
        let hint = "keep one of the two; `shards` is for work that parts itself by a number";
        r.advise("shards", "duplicate_field", "a task has either `map` or `shards`", hint);
    }
    let place = r.place_of("map");
    let Some(mut inner) = r.inside(value, &place, FIELDS) else { return (None, None) };
    let r = &mut inner;
    let argument = match r.raw_text("argument") {
        Some(text) => {
            let checked = check_name(NameKind::Param, text, "");
            r.take("argument", checked)
        }
        None => {
            if r.get("argument").is_none() {
                let hint = "name the argument of the handler that gets the item";
                r.advise("argument", "missing_field", "the map does not name its argument", hint);
            }
            None
        }
    };
    let max_active = r.count("max_active", 1, MOST_ITEMS as u32);
    let given: Vec<&str> = SOURCES.iter().copied().filter(|field| r.get(field).is_some()).collect();
    let (over, key) = match given[..] {
        ["items"] => (items(r), None),
        ["param"] => (r.line("param", 128).map(Over::Param), None),
        ["result"] => {
            let key = r.raw_text("result").and_then(|text| edges::upstream(r, "result", text, dag));
            let local = key.as_ref().and_then(|key| key.strip_prefix(dag)?.strip_prefix('.'));
            let local = local.map(str::to_owned);
            if let (Some(key), None) = (&key, &local) {
                let message = format!("`{}` is a task of another dag", printable(key));
                let hint = "read its list in a task of this dag, and map over that";
                r.advise("result", "other_dag", message, hint);
            }
            (local.map(Over::Result), key)
        }
        [] => {
            let hint = "give `items`, `param` or `result`";
            r.advise("", "missing_field", "the map does not say over what", hint);
            (None, None)
        }
        [_] => (None, None),
        [first, second, ..] => {
            let message = format!("`{first}` and `{second}` both say over what");
            let hint = "one list; put two together in a task before, pair by pair or all with all";
            r.advise(second, "duplicate_field", message, hint);
            (None, None)
        }
    };
    let mapping = argument.zip(over);
    (mapping.map(|(argument, over)| Mapping { argument: Some(argument), over, max_active }), key)
}

fn items(r: &mut Reader<'_, '_>) -> Option<Over> {
    let value = r.get("items")?;
    let Value::Array(items) = value else {
        let message =
            format!("a task is mapped over a list, and {} is {}", shown(value), kind_of(value));
        let hint = "write a list, also for one item: `[x]`";
        r.advise("items", "not_a_list", message, hint);
        return None;
    };
    let bytes = measure(value).bytes;
    if items.len() > MOST_ITEMS || bytes > LARGEST {
        let message = format!(
            "{} items in {bytes} bytes, at most {MOST_ITEMS} in {LARGEST} fit",
            items.len()
        );
        let hint = "let a task return the list, and map over its result";
        r.advise("items", "too_large", message, hint);
        return None;
    }
    Some(Over::Items(items.clone()))
}

/// The parameter of the run that is the list must be one, and the numbers of a shard are filled by
/// the run: parameters of these names are taken out of the schema.
pub(super) fn fill(
    r: &mut Reader<'_, '_>,
    map: Option<&Mapping>,
    schema: &mut Vec<Param>,
    injected: &mut Vec<String>,
) {
    let is_number = |name: &str| SHARD_INDEX.contains(&name) || SHARD_TOTAL.contains(&name);
    match map.map(|map| &map.over) {
        Some(Over::Shards(_)) => {
            for param in schema.iter().filter(|param| is_number(&param.name)) {
                if !matches!(param.kind, ParamType::Int | ParamType::Any) {
                    let message =
                        format!("the run fills it with a number, and it is {}", param.kind);
                    r.advise(&param.name, "wrong_type", message, "make it an int");
                }
                if !injected.contains(&param.name) {
                    injected.push(param.name.clone());
                }
            }
            schema.retain(|param| !is_number(&param.name));
        }
        Some(Over::Param(name)) => match schema.iter().find(|param| param.name == *name) {
            Some(param) if matches!(param.kind, ParamType::List | ParamType::Any) => {}
            Some(param) => {
                let message = format!(
                    "a task is mapped over a list, and parameter `{name}` is {}",
                    param.kind
                );
                let hint = "give it the type list";
                r.advise("map.param", "not_a_list", message, hint);
            }
            None => {
                let message = format!("there is no parameter `{}`", printable(name));
                let hint = match nearest(name, schema.iter().map(|param| param.name.as_str())) {
                    Some(like) => format!("did you mean `{like}`?"),
                    None => {
                        format!("declare `{}` in `param_schema`, of type list", printable(name))
                    }
                };
                r.advise("map.param", "unknown_parameter", message, hint);
            }
        },
        _ => {}
    }
    if !matches!(map.map(|map| &map.over), Some(Over::Shards(_)))
        && let Some(name) = injected.iter().find(|name| is_number(name))
    {
        let hint = "give the task `shards`, or make it a parameter of the run";
        let message = format!("only a task in shards has a `{name}`");
        r.advise("injected", "unknown_injected", message, hint);
    }
}

/// What takes the other tasks of the dag to see: lists that can never be lists.
pub(super) fn sources(r: &mut Reader<'_, '_>, tasks: &[TaskDef]) {
    let by_name: BTreeMap<&str, &TaskDef> =
        tasks.iter().map(|task| (task.name.as_str(), task)).collect();
    for task in tasks {
        let Some(map) = &task.map else { continue };
        match &map.over {
            Over::Result(name) => {
                let nothing =
                    |upstream: &&TaskDef| upstream.kind == "noop" && upstream.map.is_none();
                if by_name.get(name.as_str()).is_some_and(nothing) {
                    let message =
                        format!("a task is mapped over a list, and `{name}` returns nothing");
                    let field = format!("{}.map.result", task.name);
                    r.advise(&field, "not_a_list", message, "map over a task that returns a list");
                }
            }
            Over::Param(name) => {
                let other = tasks.iter().find_map(|other| {
                    let param = other.param_schema.iter().find(|param| param.name == *name)?;
                    let list = matches!(param.kind, ParamType::List | ParamType::Any);
                    (!list && other.name != task.name).then_some((other, param))
                });
                if let Some((other, param)) = other {
                    let message = format!(
                        "a task is mapped over a list, and parameter `{name}` is {} of `{}`",
                        param.kind, other.name
                    );
                    let field = format!("{}.map.param", task.name);
                    r.advise(&field, "not_a_list", message, "give one of the two another name");
                }
            }
            Over::Items(_) | Over::Shards(_) => {}
        }
    }
}
