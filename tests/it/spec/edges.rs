//! Edges: how they are written, and what the graph says about them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{accepted, clean_with, dag_with, found, problems, refused};
use mainspring::engine::{Plan, PlannedTask};
use mainspring::model::spec::check_dag;
use mainspring::model::{
    DagDef, DagId, EdgeKind, MatchOn, OffsetUnit, OnSkip, TaskId, TaskVersionId, Which,
};

fn waits(depends_on: Value) -> Value {
    clean_with(json!({"inputs": {}, "depends_on": depends_on}))
}

#[test]
fn edges_as_they_are_written() {
    for same in [
        json!("extract"),
        json!(["extract"]),
        json!(["flights.extract", "extract"]),
        json!({"upstream": "extract", "kind": "success", "offset": 0, "unit": "week"}),
    ] {
        let dag = accepted(&waits(same));
        assert_eq!(dag.tasks[1].dependencies.len(), 1);
        assert_eq!(dag.tasks[1].dependencies[0].upstream, "flights.extract");
        assert_eq!(dag.tasks[1].dependencies[0].offset_unit, OffsetUnit::Day);
    }
    let dag = check_dag(&waits(json!([{
        "upstream": "order.settle", "kind": "Output_Match", "window": [-6, 0], "unit": "week",
        "which": "any", "pattern": "^ok$",
    }])))
    .unwrap();
    let edge = &dag.tasks[1].dependencies[0];
    assert_eq!((edge.upstream.as_str(), edge.kind), ("order.settle", EdgeKind::OutputMatch));
    assert_eq!((edge.offset_from, edge.offset_to), (-6, 0));
    assert_eq!((edge.offset_unit, edge.which), (OffsetUnit::Week, Which::Any));
}

#[test]
fn edges_that_are_written_wrong() {
    for (edge, code, place) in [
        (json!(5), "wrong_type", ""),
        (json!("a b"), "bad_name", ""),
        (json!("a.b.c"), "bad_name", ""),
        (json!("order.settle.v2"), "not_supported_yet", ""),
        (json!({}), "missing_field", ".upstream"),
        (json!({"upstream": "extract", "kind": "succes"}), "bad_edge_kind", ".kind"),
        (json!({"upstream": "extract", "kind": "OUTPUT_MATCH"}), "missing_field", ".pattern"),
        (json!({"upstream": "extract", "pattern": "x"}), "bad_pattern", ".pattern"),
        (
            json!({"upstream": "extract", "kind": "OUTPUT_MATCH", "pattern": "("}),
            "bad_pattern",
            ".pattern",
        ),
        (
            json!({"upstream": "extract", "kind": "OUTPUT_MATCH", "pattern": "(a{1000}){1000}"}),
            "bad_pattern",
            ".pattern",
        ),
        (json!({"upstream": "extract", "offset": 1}), "future_offset", ".offset"),
        (json!({"upstream": "extract", "offset": 0.5}), "wrong_type", ".offset"),
        (json!({"upstream": "extract", "window": [0, -6]}), "bad_window", ".window"),
        (json!({"upstream": "extract", "window": [-6]}), "bad_window", ".window"),
        (
            json!({"upstream": "extract", "window": [-6, 0], "offset": -6}),
            "duplicate_field",
            ".offset",
        ),
        (json!({"upstream": "extract", "unit": "year"}), "bad_unit", ".unit"),
        (json!({"upstream": "extract", "which": "first"}), "bad_which", ".which"),
        (json!({"upstream": "extract", "ofset": -1}), "unknown_field", ".ofset"),
    ] {
        let error = check_dag(&waits(json!([edge]))).unwrap_err().0;
        let found: Vec<_> = error.iter().map(|p| (p.code, p.place.clone())).collect();
        assert_eq!(found, [(code, format!("flights.clean.depends_on[0]{place}"))]);
    }
    let future = waits(json!([{"upstream": "extract", "offset": 1, "allow_future": true}]));
    assert_eq!(check_dag(&future).unwrap().tasks[1].dependencies[0].offset_to, 1);
}

/// Scenario C23: the same edge twice is one edge, or refused where the kinds differ.
#[test]
fn one_upstream_has_one_rule_a_period() {
    let weak = json!([{"upstream": "extract", "kind": "WEAK"}]);
    let spec = clean_with(json!({"depends_on": weak}));
    refused(&spec, "duplicate_edge", "flights.clean.depends_on[0]");
    // An input and the same edge once more are one.
    let dag = accepted(&clean_with(json!({"depends_on": ["extract"]})));
    assert_eq!(dag.tasks[1].dependencies.len(), 1);
}

#[test]
fn edges_to_other_runs_and_assets_are_read() {
    let edge = |value: Value| accepted(&waits(json!([value]))).tasks[1].dependencies[0].clone();
    let plain = edge(json!("@ods.orders"));
    assert_eq!((plain.upstream.as_str(), plain.kind), ("@ods.orders", EdgeKind::DataReady));
    assert_eq!(plain.asset(), Some("ods.orders"));
    let asset = edge(json!({"asset": "lake/ods", "offset": -1, "external": true}));
    assert_eq!((asset.asset(), asset.offset_from, asset.external), (Some("lake/ods"), -1, true));
    let slot = edge(json!({"upstream": "order.settle", "unit": "slot"}));
    // Slot 0 is the last fire, and not the run's own period.
    assert_eq!((slot.offset_unit, slot.is_here()), (OffsetUnit::Slot, false));
    let printed = json!({"upstream": "extract", "kind": "OUTPUT_MATCH", "pattern": "x",
        "match_on": "stdout", "on_skip": "block"});
    let printed = edge(printed);
    assert_eq!((printed.match_on, printed.on_skip), (MatchOn::Stdout, Some(OnSkip::Block)));
    let completed = json!({"upstream": "extract", "kind": "COMPLETED"});
    assert_eq!(edge(completed).wait_up_to_ms, None);
    for (field, value) in [
        ("wait_up_to", json!("2h")),
        ("wait_up_to_ms", json!(7_200_000)),
        ("wait_up_to_sec", json!(7_200)),
    ] {
        let waits = edge(json!({"upstream": "extract", "kind": "COMPLETED", field: value}));
        assert_eq!(waits.wait_up_to_ms, Some(7_200_000), "{field}");
    }
}

#[test]
fn edges_that_say_two_things_are_refused() {
    for (edge, code, field) in [
        (json!({"upstream": "extract", "asset": "a"}), "duplicate_field", "asset"),
        (json!({"asset": "a", "kind": "SUCCESS"}), "bad_edge_kind", "kind"),
        (json!({"asset": "a b"}), "bad_name", "asset"),
        (json!({"asset": "a."}), "bad_name", "asset"),
        (json!({"upstream": "extract", "external": true}), "bad_edge", "external"),
        (json!({"upstream": "extract", "match_on": "stdout"}), "bad_pattern", "match_on"),
        (json!({"upstream": "extract", "wait_up_to": "2h"}), "bad_wait", "wait_up_to"),
        (
            json!({"upstream": "extract", "kind": "WEAK", "wait_up_to_ms": 1}),
            "bad_wait",
            "wait_up_to_ms",
        ),
        (json!({"asset": "a", "wait_up_to": "2h"}), "bad_wait", "wait_up_to"),
        (
            json!({"upstream": "extract", "kind": "COMPLETED", "wait_up_to": 0}),
            "bad_wait",
            "wait_up_to",
        ),
        (
            json!({"upstream": "extract", "kind": "COMPLETED", "wait_up_to": "soon"}),
            "bad_duration",
            "wait_up_to",
        ),
    ] {
        refused(&waits(json!([edge])), code, &format!("flights.clean.depends_on[0].{field}"));
    }
    let across = clean_with(json!({"inputs": {"rows": "order.settle"}}));
    refused(&across, "input_across", "flights.clean.inputs.rows");
}

#[test]
fn an_unknown_upstream_is_told_with_the_nearest() {
    let spec = clean_with(json!({"inputs": {"rows": "extrct"}}));
    refused(&spec, "unknown_upstream", "flights.clean");
    assert_eq!(problems(&spec)[0].hint.as_deref(), Some("did you mean `extract`?"));
    // Also where the edge takes no part in the cycle check.
    refused(
        &waits(json!([{"upstream": "extrct", "kind": "WEAK"}])),
        "unknown_upstream",
        "flights.clean",
    );
    let twice =
        dag_with(json!({"tasks": [{"name": "a", "type": "noop"}, {"name": "a", "type": "noop"}]}));
    refused(&twice, "duplicate_task", "flights.a");
}

/// a -> b -> c, and one more edge.
fn chain(more: Value, on: usize) -> Value {
    let mut spec = dag_with(json!({"tasks": [
        {"name": "a", "type": "noop", "depends_on": []},
        {"name": "b", "type": "noop", "depends_on": ["a"]},
        {"name": "c", "type": "noop", "depends_on": ["b"]},
    ]}));
    spec["tasks"][on]["depends_on"].as_array_mut().unwrap().push(more);
    spec
}

/// Scenario C23, as far as one dag goes: the check itself, whatever runs today.
#[test]
fn cycles_and_edges_that_are_none() {
    let codes = |spec: &Value| -> Vec<_> {
        Plan::check(&check_dag(spec).unwrap()).iter().map(|problem| problem.code).collect()
    };
    let closed = chain(json!("c"), 0);
    assert_eq!(codes(&closed), ["cycle"]);
    assert!(problems(&closed)[0].message.contains("a -> b -> c -> a"), "{:?}", found(&closed));
    assert!(codes(&chain(json!({"upstream": "c", "offset": -1}), 0)).is_empty());
    assert!(codes(&chain(json!({"upstream": "c", "kind": "WEAK"}), 0)).is_empty());
    assert_eq!(codes(&chain(json!("a"), 0)), ["cycle"]);
    assert_eq!(codes(&chain(json!({"upstream": "a", "kind": "WEAK"}), 0)), ["cycle"]);
    assert!(codes(&chain(json!({"upstream": "a", "offset": -1}), 0)).is_empty());
    assert_eq!(codes(&chain(json!({"upstream": "c", "window": [-6, 0]}), 0)), ["cycle"]);
    let future = json!({"upstream": "c", "offset": 1, "allow_future": true});
    assert_eq!(codes(&chain(future, 0)), ["cycle"]);
}

fn plan(dag: &DagDef) -> Plan {
    let tasks = (1..).zip(&dag.tasks).map(|(id, def)| PlannedTask {
        task_id: TaskId(id),
        version_id: TaskVersionId(id),
        def: Arc::new(def.clone()),
        enabled: true,
    });
    Plan::build(DagId(1), &dag.key, tasks.collect()).unwrap()
}

#[test]
fn a_plan_holds_the_edges_of_one_run() {
    let plan = plan(&check_dag(&chain(json!({"upstream": "a", "kind": "COMPLETED"}), 2)).unwrap());
    assert_eq!(plan.graph.upstream(2), [1, 0]);
    let kinds: Vec<EdgeKind> =
        plan.graph.upstream_edges(2).iter().map(|id| plan.rules[*id as usize].kind).collect();
    assert_eq!(kinds, [EdgeKind::Success, EdgeKind::Completed]);
    assert_eq!(plan.graph.edge_count(), plan.rules.len());
    let weak = check_dag(&chain(json!({"upstream": "c", "kind": "WEAK"}), 0)).unwrap();
    assert_eq!(self::plan(&weak).graph.upstream(0), [2]);
    let earlier = check_dag(&chain(json!({"upstream": "order.settle"}), 0)).unwrap();
    assert!(self::plan(&earlier).graph.upstream(0).is_empty());
    let closed = check_dag(&chain(json!("c"), 0)).unwrap();
    let tasks = closed.tasks.iter().map(|def| PlannedTask {
        task_id: TaskId(1),
        version_id: TaskVersionId(1),
        def: Arc::new(def.clone()),
        enabled: true,
    });
    assert_eq!(Plan::build(DagId(1), "flights", tasks.collect()).unwrap_err().0[0].code, "cycle");
}
