//! Maps and shards as they are written, and lists that can never be lists.

use mainspring::model::{MOST_ITEMS, Mapping, Over};
use serde_json::{Value, json};

use super::{accepted, clean_with, found, problems, refused};

fn mapped(map: Value) -> Value {
    clean_with(json!({"inputs": {}, "map": map}))
}

#[test]
fn a_list_may_come_from_three_places() {
    let over = |map: Value, more: Value| {
        let mut spec = mapped(map);
        for (field, value) in more.as_object().unwrap() {
            spec["tasks"][1][field] = value.clone();
        }
        let dag = accepted(&spec);
        let edges: Vec<String> =
            dag.tasks[1].dependencies.iter().map(|edge| edge.upstream.clone()).collect();
        (dag.tasks[1].map.clone().unwrap(), edges)
    };
    let (map, edges) = over(json!({"argument": "row", "result": "extract"}), json!({}));
    assert_eq!(
        map,
        Mapping {
            argument: Some("row".into()),
            over: Over::Result("extract".into()),
            max_active: None
        }
    );
    // The list must be there: that is an edge, with or without saying so.
    assert_eq!(edges, ["flights.extract"]);
    let (map, edges) = over(
        json!({"argument": "row", "items": [1, null, {"a": []}], "max_active": 8}),
        json!({"depends_on": ["extract"]}),
    );
    assert_eq!(map.over, Over::Items(vec![json!(1), json!(null), json!({"a": []})]));
    assert_eq!((map.max_active, edges.len()), (Some(8), 1));
    let tables = json!([{"name": "tables", "type": "list", "default": []}]);
    let (map, edges) =
        over(json!({"argument": "row", "param": "tables"}), json!({"param_schema": tables}));
    assert_eq!((map.over, edges.len()), (Over::Param("tables".into()), 0));
    // The list and the argument that gets its items may have one name.
    over(json!({"argument": "tables", "param": "tables"}), json!({"param_schema": tables}));
    assert_eq!(
        over(json!({"argument": "row", "items": []}), json!({})).0.over,
        Over::Items(vec![])
    );
}

#[test]
fn a_map_that_is_written_wrong() {
    for (map, code, place) in [
        (json!(5), "wrong_type", "map"),
        (json!({"argument": "row"}), "missing_field", "map"),
        (json!({"items": [1]}), "missing_field", "map.argument"),
        (json!({"argument": "a b", "items": [1]}), "bad_name", "map.argument"),
        (json!({"argument": "row", "items": 5}), "not_a_list", "map.items"),
        (json!({"argument": "row", "items": "abc"}), "not_a_list", "map.items"),
        (json!({"argument": "row", "items": {}}), "not_a_list", "map.items"),
        (
            json!({"argument": "row", "items": [1], "result": "extract"}),
            "duplicate_field",
            "map.result",
        ),
        (
            json!({"argument": "row", "items": [1], "max_active": 0}),
            "out_of_range",
            "map.max_active",
        ),
        (json!({"argument": "row", "param": "tables"}), "unknown_parameter", "map.param"),
        (json!({"argument": "row", "result": "order.list"}), "other_dag", "map.result"),
        (json!({"argument": "row", "result": 5}), "wrong_type", "map.result"),
        (json!({"argument": "row", "items": [1], "over": 1}), "unknown_field", "map.over"),
        (json!({"argument": "row", "items": vec![0; MOST_ITEMS + 1]}), "too_large", "map.items"),
    ] {
        let found = found(&mapped(map.clone()));
        assert!(
            found.contains(&(code, format!("flights.clean.{place}")))
                || found.contains(&(code, format!("flights.clean.{place}."))),
            "{map}: {found:?}"
        );
    }
    refused(
        &mapped(json!({"argument": "row", "result": "extrat"})),
        "unknown_upstream",
        "flights.clean",
    );
    let hint = &problems(&mapped(json!({"argument": "row", "items": 5})))[0];
    assert_eq!(hint.message, "a task is mapped over a list, and 5 is a whole number");
    assert_eq!(hint.hint.as_deref(), Some("write a list, also for one item: `[x]`"));
}

#[test]
fn what_can_never_be_a_list_is_refused() {
    let number = json!([{"name": "n", "type": "int", "required": true}]);
    let mut spec = mapped(json!({"argument": "row", "param": "n"}));
    spec["tasks"][1]["param_schema"] = number.clone();
    refused(&spec, "not_a_list", "flights.clean.map.param");
    // Of one name and another type elsewhere in the dag: no value would fit both.
    let mut spec = mapped(json!({"argument": "row", "param": "n"}));
    spec["tasks"][1]["param_schema"] = json!([{"name": "n", "type": "list", "required": true}]);
    spec["tasks"][0]["param_schema"] = number;
    refused(&spec, "not_a_list", "flights.clean.map.param");
    let mut spec = mapped(json!({"argument": "row", "result": "extract"}));
    spec["tasks"][0] = json!({"name": "extract", "type": "noop"});
    refused(&spec, "not_a_list", "flights.clean.map.result");
    // A mapped task gives a list, whatever it runs.
    spec["tasks"][0]["map"] = json!({"argument": "x", "items": [1, 2]});
    accepted(&spec);
}

#[test]
fn an_argument_comes_from_one_place() {
    let mut spec = mapped(json!({"argument": "row", "items": [1]}));
    spec["tasks"][1]["params"] = json!({"row": 1});
    refused(&spec, "duplicate_parameter", "flights.clean.row");
    let mut spec = mapped(json!({"argument": "biz_date", "items": [1]}));
    spec["tasks"][1]["injected"] = json!(["biz_date"]);
    refused(&spec, "duplicate_parameter", "flights.clean.biz_date");
}

/// Text 004: `shardIndex` and `shardTotal` among the parameters of the run are filled by it.
#[test]
fn shards_take_their_numbers_out_of_the_parameters() {
    for (index, total) in [("shardIndex", "shardTotal"), ("shard_index", "shard_total")] {
        let schema = json!([
            {"name": index, "type": "int", "required": true},
            {"name": total, "type": "int", "required": true},
            {"name": "day", "type": "date", "required": true},
        ]);
        let spec = clean_with(json!({"inputs": {}, "shards": 4, "param_schema": schema}));
        let dag = accepted(&spec);
        let task = &dag.tasks[1];
        assert_eq!(task.map.as_ref().unwrap().over, Over::Shards(4));
        assert_eq!(task.injected, [index, total]);
        let names: Vec<&str> = task.param_schema.iter().map(|param| param.name.as_str()).collect();
        assert_eq!(names, ["day"]);
    }
    let bad = |fields: Value, code: &str, place: &str| refused(&clean_with(fields), code, place);
    bad(json!({"shards": 0}), "out_of_range", "flights.clean.shards");
    bad(json!({"shards": 10_001}), "out_of_range", "flights.clean.shards");
    bad(json!({"shards": "4"}), "wrong_type", "flights.clean.shards");
    bad(json!({"injected": ["shard_index"]}), "unknown_injected", "flights.clean.injected");
    bad(
        json!({"shards": 2, "param_schema": [{"name": "shardIndex", "type": "str", "required": true}]}),
        "wrong_type",
        "flights.clean.shardIndex",
    );
    bad(
        json!({"shards": 2, "map": {"argument": "x", "items": [1]}}),
        "duplicate_field",
        "flights.clean.shards",
    );
}

#[test]
fn a_range_is_one_batch_where_each_date_has_one_call() {
    assert!(accepted(&clean_with(json!({"batch": "range"}))).tasks[1].batch);
    assert!(!accepted(&clean_with(json!({}))).tasks[1].batch);
    let place = "flights.clean.batch";
    let bad = |fields: Value| refused(&clean_with(fields), "bad_batch", place);
    bad(json!({"batch": "days"}));
    bad(json!({"batch": true}));
    bad(json!({"inputs": {}, "batch": "range", "shards": 4}));
    let map = json!({"argument": "row", "items": [1]});
    bad(json!({"inputs": {}, "batch": "range", "map": map}));
    bad(json!({"batch": "range", "type": "probe"}));
    let own = json!([{"upstream": "flights.clean", "offset": -1}]);
    bad(json!({"inputs": {}, "batch": "range", "depends_on": own}));
}

#[test]
fn a_schedule_need_not_give_what_an_item_fills() {
    let schema = json!([{"name": "shardIndex", "type": "int", "required": true}]);
    let mut spec = clean_with(json!({"inputs": {}, "shards": 4, "param_schema": schema}));
    spec["schedule"] = json!("0 2 * * *");
    accepted(&spec);
    // A list without a default it must give, as any other parameter.
    let tables = json!([{"name": "tables", "type": "list", "required": true}]);
    let map = json!({"argument": "row", "param": "tables"});
    let mut spec = clean_with(json!({"inputs": {}, "map": map, "param_schema": tables}));
    spec["schedule"] = json!("0 2 * * *");
    refused(&spec, "required_without_value", "flights.clean.tables");
}

#[test]
fn texts_may_ask_for_the_item() {
    let map = json!({"argument": "row", "items": [{"table": "a"}]});
    let spec = clean_with(json!({
        "inputs": {}, "map": map, "params": {"path": "/in/${params.row.table}"},
        "dedup_key": "${params.row}",
    }));
    accepted(&spec);
    let shards = json!({"inputs": {}, "shards": 2,
        "params": {"part": "${params.shardIndex} of ${params.shard_total}"}});
    accepted(&clean_with(shards));
    let none = json!({"inputs": {}, "params": {"part": "${params.shardIndex}"}});
    refused(&clean_with(none), "unknown_parameter", "flights.clean.params.part");
}

/// What is not mapped is stored as it always was: its content, and its version with it, stay.
#[test]
fn an_ordinary_task_says_nothing_of_maps() {
    let dag = accepted(&super::flights());
    let text = serde_json::to_string(&dag.tasks[1]).unwrap();
    assert!(!text.contains("map"), "{text}");
}
