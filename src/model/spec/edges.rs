//! What a task waits for.

use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde_json::Value;

use super::reader::{Reader, printable};
use crate::model::json::kind_of;
use crate::model::key::{NameKind, check_asset, check_name, split_versioned};
use crate::model::{ASSET, Dependency, EdgeKind, MatchOn, OffsetUnit, OnSkip, Which};

const FIELDS: &[&str] = &[
    "upstream",
    "asset",
    "external",
    "kind",
    "offset",
    "window",
    "unit",
    "which",
    "pattern",
    "match_on",
    "on_skip",
    "wait_up_to",
    "wait_up_to_ms",
    "wait_up_to_sec",
    "allow_future",
];
const WAIT: [&str; 3] = ["wait_up_to", "wait_up_to_ms", "wait_up_to_sec"];

const KINDS: &[(&str, EdgeKind)] = &[
    ("SUCCESS", EdgeKind::Success),
    ("COMPLETED", EdgeKind::Completed),
    ("OUTPUT_MATCH", EdgeKind::OutputMatch),
    ("DATA_READY", EdgeKind::DataReady),
    ("WEAK", EdgeKind::Weak),
];
const UNITS: &[(&str, OffsetUnit)] = &[
    ("day", OffsetUnit::Day),
    ("week", OffsetUnit::Week),
    ("month", OffsetUnit::Month),
    ("slot", OffsetUnit::Slot),
];
const MATCH_ON: &[(&str, MatchOn)] = &[("result", MatchOn::Result), ("stdout", MatchOn::Stdout)];
const ON_SKIP: &[(&str, OnSkip)] =
    &[("satisfied", OnSkip::Satisfied), ("skip", OnSkip::Skip), ("block", OnSkip::Block)];
const WHICH: &[(&str, Which)] = &[("all", Which::All), ("last", Which::Last), ("any", Which::Any)];

/// The farthest period an edge looks at.
const FARTHEST: i64 = 3_660;
/// Characters of a pattern, and bytes of what it compiles to.
const LONGEST_PATTERN: usize = 1_024;
const LARGEST_PATTERN: usize = 1 << 20;

/// The inputs and all edges of a task. An input is an edge too, and the task whose result it is
/// mapped over: the result must be there.
pub(super) fn read(
    r: &mut Reader<'_, '_>,
    dag: &str,
    listing: Option<String>,
) -> (BTreeMap<String, String>, Vec<Dependency>) {
    let mut edges = Edges::default();
    let inputs = inputs(r, dag, &mut edges);
    if let Some(key) = listing {
        edges.add(r, "map.result", Dependency::on_success(key));
    }
    let given: Vec<(String, &Value)> = match r.get("depends_on") {
        // One upstream needs no list around it.
        Some(one @ (Value::String(_) | Value::Object(_))) => vec![("depends_on".to_owned(), one)],
        _ => {
            let items = r.list("depends_on").iter().enumerate();
            items.map(|(at, item)| (format!("depends_on[{at}]"), item)).collect()
        }
    };
    for (field, value) in given {
        let edge = match value {
            Value::String(text) => match text.strip_prefix(ASSET) {
                Some(name) => asset(r, &field, name).map(|upstream| Dependency {
                    kind: EdgeKind::DataReady,
                    ..Dependency::on_success(upstream)
                }),
                None => upstream(r, &field, text, dag).map(Dependency::on_success),
            },
            Value::Object(_) => {
                let place = r.place_of(&field);
                r.inside(value, &place, FIELDS).and_then(|mut inner| object(&mut inner, dag))
            }
            other => {
                let message =
                    format!("expected a task name or an object, found {}", kind_of(other));
                r.report(&field, "wrong_type", message);
                None
            }
        };
        if let Some(edge) = edge {
            edges.add(r, &field, edge);
        }
    }
    (inputs, edges.list)
}

/// Edges so far, each upstream and period once.
#[derive(Default)]
struct Edges {
    list: Vec<Dependency>,
    at: BTreeMap<(String, i32, i32), usize>,
}

impl Edges {
    /// The same edge twice is one edge; two rules for one upstream and period are a mistake.
    fn add(&mut self, r: &mut Reader<'_, '_>, field: &str, edge: Dependency) {
        let key = (edge.upstream.clone(), edge.offset_from, edge.offset_to);
        let Some(&at) = self.at.get(&key) else {
            self.at.insert(key, self.list.len());
            self.list.push(edge);
            return;
        };
        let first = &self.list[at];
        if *first != edge {
            let message = if first.kind == edge.kind {
                format!("upstream `{}` is given twice with different rules", edge.upstream)
            } else {
                format!("upstream `{}` is both {} and {}", edge.upstream, first.kind, edge.kind)
            };
            let hint = "keep one of the two; an input is a SUCCESS edge";
            r.advise(field, "duplicate_edge", message, hint);
        }
    }
}

fn inputs(r: &mut Reader<'_, '_>, dag: &str, edges: &mut Edges) -> BTreeMap<String, String> {
    let mut inputs = BTreeMap::new();
    for (argument, value) in r.object("inputs") {
        let field = format!("inputs.{}", printable(&argument));
        let checked = check_name(NameKind::Param, &argument, "");
        let name = r.take(&field, checked);
        let Value::String(text) = &value else {
            let message = format!("expected the name of a task, found {}", kind_of(&value));
            r.report(&field, "wrong_type", message);
            continue;
        };
        let (Some(name), Some(key)) = (name, upstream(r, &field, text, dag)) else { continue };
        let local = key.strip_prefix(dag).and_then(|rest| rest.strip_prefix('.'));
        let Some(local) = local.map(str::to_owned) else {
            let message =
                format!("`{key}` is a task of another dag: its result is not handed over");
            let hint = "wait for it with depends_on, and pass the data by a table or a file";
            r.advise(&field, "input_across", message, hint);
            continue;
        };
        edges.add(r, &field, Dependency::on_success(key));
        inputs.insert(name, local);
    }
    inputs
}

/// The full key of an upstream written as `task` or `dag.task`.
pub(super) fn upstream(
    r: &mut Reader<'_, '_>,
    field: &str,
    text: &str,
    dag: &str,
) -> Option<String> {
    let (key, version) = split_versioned(text);
    if version.is_some() {
        let message = format!("`{}` names a version of the upstream", printable(text));
        let hint = "leave the version out: the active one counts";
        r.advise(field, "not_supported_yet", message, hint);
        return None;
    }
    let (other, task) = match key.split_once('.') {
        Some((other, task)) => {
            let checked = check_name(NameKind::Dag, other, "");
            (r.take(field, checked), task)
        }
        None => (Some(dag.to_owned()), key),
    };
    let checked = check_name(NameKind::Task, task, "");
    let task = r.take(field, checked)?;
    Some(format!("{}.{task}", other?))
}

/// An asset as the upstream of an edge.
fn asset(r: &mut Reader<'_, '_>, field: &str, name: &str) -> Option<String> {
    let checked = check_asset(name, "");
    Some(format!("{ASSET}{}", r.take(field, checked)?))
}

/// What the edge of an object looks at, and whether that is an asset.
fn named(r: &mut Reader<'_, '_>, dag: &str) -> Option<(String, bool)> {
    let given = |r: &Reader<'_, '_>, field: &str| r.get(field).is_some();
    match (given(r, "upstream"), given(r, "asset")) {
        (true, true) => {
            let message = "the edge names a task and an asset";
            r.advise("asset", "duplicate_field", message, "keep one of the two");
            None
        }
        (false, true) => {
            let name = r.raw_text("asset")?;
            Some((asset(r, "asset", name)?, true))
        }
        (true, false) => {
            let text = r.raw_text("upstream")?;
            match text.strip_prefix(ASSET) {
                Some(name) => Some((asset(r, "upstream", name)?, true)),
                None => Some((upstream(r, "upstream", text, dag)?, false)),
            }
        }
        (false, false) => {
            r.report("upstream", "missing_field", "the edge does not name its upstream");
            None
        }
    }
}

fn object(r: &mut Reader<'_, '_>, dag: &str) -> Option<Dependency> {
    let named = named(r, dag);
    let is_asset = named.as_ref().is_some_and(|(_, is_asset)| *is_asset);
    let kind = match r.get("kind") {
        Some(_) => r.word("kind", "bad_edge_kind", KINDS),
        None if is_asset => Some(EdgeKind::DataReady),
        None => Some(EdgeKind::Success),
    };
    if let Some(kind) = kind.filter(|kind| is_asset && *kind != EdgeKind::DataReady) {
        let message = format!("an asset is ready or not: it has no {kind} edge");
        r.advise("kind", "bad_edge_kind", message, "leave `kind` out, or name the task");
        return None;
    }
    let (offset_from, offset_to) = window(r);
    let unit = r.word("unit", "bad_unit", UNITS).unwrap_or(OffsetUnit::Day);
    let which = r.word("which", "bad_which", WHICH).unwrap_or(Which::All);
    let kind = kind?;
    let pattern = pattern(r, kind);
    let match_on = r.word("match_on", "bad_match_on", MATCH_ON).unwrap_or_default();
    if r.get("match_on").is_some() && kind != EdgeKind::OutputMatch {
        let message = format!("a {kind} edge has no pattern to match");
        r.advise("match_on", "bad_pattern", message, "did you mean kind OUTPUT_MATCH?");
    }
    let external = r.flag("external").unwrap_or_default();
    if external && !is_asset {
        let message = "only an asset comes from elsewhere";
        r.advise("external", "bad_edge", message, "leave it out for a task");
    }
    let on_skip = r.word("on_skip", "bad_on_skip", ON_SKIP);
    let wait_up_to_ms = wait_up_to(r, kind);
    // The run's own period is the same in every unit but slots, which count fires; but another dag
    // may have one run in the week or the month.
    let (upstream, _) = named?;
    let is_own = upstream.split_once('.').is_some_and(|(other, _)| other == dag);
    let here = (offset_from, offset_to) == (0, 0) && is_own && unit != OffsetUnit::Slot;
    let offset_unit = if here { OffsetUnit::Day } else { unit };
    Some(Dependency {
        upstream,
        kind,
        offset_from,
        offset_to,
        offset_unit,
        which,
        pattern,
        match_on,
        on_skip,
        external,
        wait_up_to_ms,
    })
}

/// How long an edge waits. Only one that asks for no success can do without its upstream.
fn wait_up_to(r: &mut Reader<'_, '_>, kind: EdgeKind) -> Option<i64> {
    let field = WAIT.into_iter().find(|field| r.get(field).is_some())?;
    let waits = r.duration(WAIT).flatten()?;
    if kind != EdgeKind::Completed {
        let message = match kind {
            EdgeKind::Weak => "a WEAK edge is never waited for".to_owned(),
            _ => format!("a {kind} edge does not hold without its upstream, however long it waits"),
        };
        r.advise(field, "bad_wait", message, "did you mean kind COMPLETED?");
        return None;
    }
    if waits <= 0 {
        let message = "an edge that waits for no time is no edge";
        r.advise(field, "bad_wait", message, "kind WEAK is never waited for");
        return None;
    }
    Some(waits)
}

fn window(r: &mut Reader<'_, '_>) -> (i32, i32) {
    let (field, from, to) = match r.get("window") {
        Some(value) => {
            let bound = |at: usize| {
                let number = value.as_array().filter(|pair| pair.len() == 2)?.get(at)?.as_i64()?;
                (-FARTHEST..=FARTHEST).contains(&number).then_some(number)
            };
            let (Some(from), Some(to)) = (bound(0), bound(1)) else {
                let message = "a window is a pair of whole numbers within ten years";
                r.advise("window", "bad_window", message, "such as [-6, 0]; negative is earlier");
                return (0, 0);
            };
            if r.get("offset").is_some() {
                let message = "`offset` and `window` say the same thing";
                r.advise("offset", "duplicate_field", message, "keep one of the two");
            }
            ("window", from, to)
        }
        None => {
            let offset = r.int("offset", -FARTHEST, FARTHEST).unwrap_or(0);
            ("offset", offset, offset)
        }
    };
    if from > to {
        let message = format!("the window ends at {to}, before it begins at {from}");
        r.advise(field, "bad_window", message, format!("did you mean [{to}, {from}]?"));
        return (0, 0);
    }
    let allowed = r.flag("allow_future").unwrap_or_default();
    if to > 0 && !allowed {
        let message = format!("{to} looks at a later period: negative is earlier");
        let hint = format!("did you mean -{to}? Else say `allow_future`");
        r.advise(field, "future_offset", message, hint);
    }
    // Both are within ten years.
    (from as i32, to as i32)
}

fn pattern(r: &mut Reader<'_, '_>, kind: EdgeKind) -> Option<String> {
    let Some(text) = r.raw_text("pattern") else {
        if kind == EdgeKind::OutputMatch && r.get("pattern").is_none() {
            r.report("pattern", "missing_field", "an OUTPUT_MATCH edge needs a pattern");
        }
        return None;
    };
    if kind != EdgeKind::OutputMatch {
        let message = format!("a {kind} edge has no pattern");
        r.advise("pattern", "bad_pattern", message, "did you mean kind OUTPUT_MATCH?");
        return None;
    }
    let length = text.chars().count();
    if length > LONGEST_PATTERN {
        let message = format!("the pattern has {length} characters, at most {LONGEST_PATTERN} fit");
        r.report("pattern", "bad_pattern", message);
        return None;
    }
    match RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build() {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            r.report("pattern", "bad_pattern", format!("the pattern does not compile: {last}"));
            None
        }
    }
}
