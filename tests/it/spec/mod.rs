//! From the form an author writes to a definition, or to everything that is wrong with it.

mod edges;
mod fields;
mod kinds;
mod maps;
mod names;
mod never_panics;
mod params;

use mainspring::engine::check_definition;
use mainspring::model::{DagDef, Problem};
use serde_json::{Value, json};

/// A dag with two tasks, to be spoiled by the tests.
fn flights() -> Value {
    json!({
        "name": "flights",
        "tasks": [
            {"name": "extract", "handler": "etl.flights:extract"},
            {"name": "clean", "handler": "etl.flights:clean", "inputs": {"rows": "extract"}},
        ],
    })
}

/// The dag with these fields put over the second task, `clean`.
fn clean_with(fields: Value) -> Value {
    let mut spec = flights();
    for (field, value) in fields.as_object().unwrap() {
        spec["tasks"][1][field] = value.clone();
    }
    spec
}

/// The dag with these fields of its own.
fn dag_with(fields: Value) -> Value {
    let mut spec = flights();
    for (field, value) in fields.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

fn accepted(spec: &Value) -> DagDef {
    check_definition(spec).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(spec: &Value) -> Vec<Problem> {
    check_definition(spec).map(|_| Vec::new()).unwrap_or_else(|error| error.0)
}

/// Codes and places, as they come.
fn found(spec: &Value) -> Vec<(&'static str, String)> {
    problems(spec).into_iter().map(|problem| (problem.code, problem.place)).collect()
}

#[track_caller]
fn refused(spec: &Value, code: &str, place: &str) {
    let found = found(spec);
    assert_eq!(found.len(), 1, "{found:?}, wanted {code} at {place}");
    assert_eq!((found[0].0, found[0].1.as_str()), (code, place));
}
