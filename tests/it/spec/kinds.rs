//! Every code of a field, at its place, alone.

use serde_json::{Value, json};

use super::{accepted, clean_with, dag_with, flights, found, problems, refused};
use mainspring::engine::check_definition;
use mainspring::model::BizOffset;
use mainspring::model::spec::{MOST_TASKS, check_dag, warnings};

#[test]
fn fields_of_a_task() {
    let long = "x".repeat(513);
    for (fields, code, place) in [
        (json!({"retires": 3}), "unknown_field", "retires"),
        (json!({"handler": 3}), "wrong_type", "handler"),
        (json!({"handler": "etl flights:f"}), "bad_handler", "handler"),
        (json!({"handler": null}), "missing_field", "handler"),
        (json!({"type": "shell"}), "type_not_supported_yet", "type"),
        (json!({"type": "nop", "handler": null}), "unknown_type", "type"),
        (json!({"doc": "a\u{1b}[31m"}), "bad_text", "doc"),
        (json!({"labels": ["ok", " x"]}), "bad_label", "labels[1]"),
        (json!({"labels": ["=x"]}), "bad_label", "labels[0]"),
        (json!({"labels": "x"}), "wrong_type", "labels"),
        (json!({"category": "a b"}), "bad_name", "category"),
        (json!({"resource": long}), "too_long", "resource"),
        (json!({"config": []}), "wrong_type", "config"),
        (json!({"params": {"sql": "x".repeat(1 << 20)}}), "too_large", "params"),
        (json!({"injected": ["biz_dat"]}), "unknown_injected", "injected[0]"),
        (json!({"version": 0}), "out_of_range", "version"),
        (json!({"version": true}), "wrong_type", "version"),
        (json!({"name": "clean.v2", "version": 3}), "version_conflict", "version"),
        (json!({"params": {"rows": 1}}), "duplicate_parameter", "rows"),
        (json!({"params": {"ctx": 1}, "injected": ["ctx"]}), "duplicate_parameter", "ctx"),
    ] {
        let spec = clean_with(fields.clone());
        let task = fields["name"].as_str().unwrap_or("clean");
        refused(&spec, code, &format!("flights.{task}.{place}"));
    }
}

#[test]
fn fields_of_a_policy() {
    for (fields, code, place) in [
        (json!({"retries": -1}), "out_of_range", "retries"),
        (json!({"retries": 1e30}), "out_of_range", "retries"),
        (json!({"max_attempts": 0}), "out_of_range", "max_attempts"),
        (json!({"max_attempts": "3"}), "wrong_type", "max_attempts"),
        (json!({"timeout": 30}), "duration_needs_unit", "timeout"),
        (json!({"timeout": "-30s"}), "duration_out_of_range", "timeout"),
        (json!({"timeout_ms": -1}), "duration_out_of_range", "timeout_ms"),
        (json!({"timeout_sec": 1e30}), "duration_out_of_range", "timeout_sec"),
        (json!({"timeout_ms": "30s"}), "wrong_type", "timeout_ms"),
        (json!({"timeout_ms": 0.5}), "bad_duration", "timeout_ms"),
        (json!({"timeout": "soon"}), "bad_duration", "timeout"),
        (json!({"timeout": "1s", "timeout_ms": 1000}), "duplicate_field", "timeout_ms"),
        (json!({"grace": "3651d"}), "duration_out_of_range", "grace"),
        (json!({"max_active": 0}), "out_of_range", "max_active"),
        (json!({"limits": 3}), "wrong_type", "limits"),
        (json!({"limits": ["api", "a b"]}), "bad_name", "limits[1]"),
        (json!({"limits": {"api": 0}}), "out_of_range", "limits.api"),
        (json!({"limits": {"api": "2"}}), "out_of_range", "limits.api"),
        (json!({"deadline": "7:30"}), "bad_deadline", "deadline"),
        (json!({"deadline": "+1d"}), "bad_deadline", "deadline"),
        (json!({"deadline": "later"}), "bad_duration", "deadline"),
        (json!({"deadline": 7200}), "duration_needs_unit", "deadline"),
        (json!({"deadline": "07:30", "deadline_ms": 5}), "duplicate_field", "deadline_ms"),
        (json!({"on_deadline": "stop"}), "bad_on_deadline", "on_deadline"),
        (json!({"block_timeout": "x"}), "bad_duration", "block_timeout"),
        (
            json!({"preemptible": true, "idempotent": false}),
            "preemptible_not_idempotent",
            "preemptible",
        ),
        (json!({"retry_cap": "1s"}), "retry_cap_below_interval", "retry_cap"),
        (json!({"retry_backoff": "linear"}), "bad_backoff", "retry_backoff"),
        (json!({"retry_jitter": 1.5}), "out_of_range", "retry_jitter"),
        (json!({"retry_on": ["TIMEOUT", "A B"]}), "bad_code", "retry_on[1]"),
        (json!({"idempotent": "no"}), "wrong_type", "idempotent"),
        (json!({"priority": 10}), "bad_priority", "priority"),
        (json!({"priority": "hihg"}), "bad_priority", "priority"),
        (json!({"pool": "a.b"}), "bad_name", "pool"),
        (json!({"slots": 0}), "out_of_range", "slots"),
    ] {
        refused(&clean_with(fields.clone()), code, &format!("flights.clean.{place}"));
        // The same holds where it is a default of the dag; what two fields say together is a
        // problem of each task.
        if !["retry_cap", "preemptible"].contains(&place) {
            refused(
                &dag_with(json!({"defaults": fields})),
                code,
                &format!("flights.defaults.{place}"),
            );
        }
    }
}

#[test]
fn what_is_read_of_a_policy() {
    let dag = accepted(&clean_with(json!({
        "type": "spark_submit",
        "labels": ["b", "a", "a"],
        "owner": "Li\u{200e} Lei\n",
        "timeout": 0,
        "retry_interval": "2h",
        "retry_backoff": "Fixed",
        "retry_jitter": 0.25,
        "retry_on": "TIMEOUT",
        "priority": "Urgent",
        "version": 2,
    })));
    let task = &dag.tasks[1];
    assert_eq!(task.kind, "python");
    assert_eq!(task.labels, ["a", "b", "type=spark_submit"]);
    assert_eq!(task.owner.as_deref(), Some("Li Lei"));
    assert_eq!((task.policy.timeout_ms, task.policy.priority), (None, 0));
    assert_eq!((task.policy.retry_interval_ms, task.policy.retry_cap_ms), (7_200_000, 7_200_000));
    assert_eq!(task.policy.retry_jitter_permille, 250);
    assert_eq!(task.policy.retry_on.as_deref(), Some(&["TIMEOUT".to_owned()][..]));
    assert_eq!(task.authored_version, Some(2));
}

#[test]
fn pools_are_known_only_where_somebody_says_so() {
    let mut spec = clean_with(json!({"pool": "warehous"}));
    accepted(&spec);
    spec["known_pools"] = json!(["warehouse", "api"]);
    refused(&spec, "unknown_pool", "flights.clean.pool");
    assert_eq!(problems(&spec)[0].hint.as_deref(), Some("did you mean `warehouse`?"));
}

#[test]
fn fields_of_a_dag() {
    for (fields, code, place) in [
        (json!({"name": null}), "missing_field", "dag.name"),
        (json!({"name": 5}), "wrong_type", "dag.name"),
        (json!({"title": "a\u{202e}b"}), "bad_text", "flights.title"),
        (json!({"timezone": "Asia Shanghai"}), "bad_timezone", "flights.timezone"),
        (json!({"max_active_runs": 0}), "out_of_range", "flights.max_active_runs"),
        (json!({"start_date": "2024-6-1"}), "bad_date", "flights.start_date"),
        (json!({"start_date": "\u{202e}"}), "bad_date", "flights.start_date"),
        (json!({"biz_offset": "workday"}), "syntax", "flights.biz_offset"),
        (json!({"schedule": 5}), "wrong_type", "flights.schedule"),
        (json!({"schedule": " "}), "bad_schedule", "flights.schedule"),
        (json!({"schedule": {"name": "night"}}), "missing_field", "flights.schedule.expression"),
        (
            json!({"schedules": ["@daily", {"cron": "x", "expression": "@daily"}]}),
            "unknown_field",
            "flights.schedules[1].cron",
        ),
        (json!({"schedule": "@daily", "schedules": []}), "duplicate_field", "flights.schedules"),
        (
            json!({"schedule": ["@daily", {"name": "default", "expression": "@hourly"}]}),
            "duplicate_schedule",
            "flights.schedule[1]",
        ),
        (
            json!({"start_date": "2024-02-01", "end_date": "2024-01-31"}),
            "bad_date_range",
            "flights.end_date",
        ),
        (json!({"tasks": null}), "missing_field", "flights.tasks"),
        (json!({"tasks": {}}), "wrong_type", "flights.tasks"),
        (json!({"tasks": [5]}), "wrong_type", "flights.tasks[0]"),
        (json!({"tasks": [{"handler": "m:f"}]}), "missing_field", "flights.tasks[0].name"),
    ] {
        refused(&dag_with(fields), code, place);
    }
}

#[test]
fn schedules_take_from_their_dag_what_they_do_not_say() {
    let dag = accepted(&dag_with(json!({
        "timezone": "Asia/Shanghai",
        "start_date": "2024-01-01",
        "biz_offset": 0,
        "schedule": [
            " 0 2 * * * ",
            {"expression": "@hourly", "timezone": "UTC", "end_date": "2024-03-01", "paused": true},
        ],
    })));
    let [night, hourly] = &dag.schedules[..] else { panic!("{:?}", dag.schedules) };
    assert_eq!((night.name.as_str(), night.rule.expression.as_str()), ("default", "0 2 * * *"));
    assert_eq!(
        (night.rule.timezone.as_str(), night.biz_offset),
        ("Asia/Shanghai", Some(BizOffset::Days(0)))
    );
    assert_eq!((hourly.name.as_str(), hourly.rule.timezone.as_str()), ("default_2", "UTC"));
    assert_eq!(hourly.rule.start_date, night.rule.start_date);
    assert!(hourly.paused && hourly.rule.end_date.is_some());
}

#[test]
fn two_tasks_of_one_resource_need_keys() {
    let mut spec = clean_with(json!({"resource": "dw.flights"}));
    spec["tasks"][0]["resource"] = json!("dw.flights");
    refused(&spec, "duplicate_resource", "flights.clean.resource");
    spec["tasks"][0]["resource_key"] = json!("raw");
    accepted(&spec);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let mut deep = json!(1);
    for _ in 0..64 {
        deep = json!([deep]);
    }
    refused(&clean_with(json!({"ext": {"x": deep}})), "too_deep", "");
    let many = Value::Array(vec![Value::Null; MOST_TASKS + 1]);
    let mut spec = flights();
    spec["tasks"] = many;
    refused(&spec, "too_many_tasks", "flights.tasks");
    for not_a_dag in [json!(null), json!([]), json!("flights")] {
        assert_eq!(check_dag(&not_a_dag).unwrap_err().0[0].code, "wrong_type");
    }
}

#[test]
fn thousands_of_problems_are_counted_not_shown() {
    let tasks: Vec<Value> = (0..3_000).map(|_| json!({"nam": 1})).collect();
    let all = problems(&dag_with(json!({"tasks": tasks})));
    assert_eq!(all.len(), 1_001);
    assert_eq!(all[1_000].code, "too_many_problems");
}

#[test]
fn a_wrong_name_hides_nothing_else() {
    let spec = json!({"name": "my flights", "tasks": [
        {"name": "a", "handler": "m:f", "depends_on": ["b"]},
        {"name": "b", "handler": "m:f", "depends_on": ["a"]},
        {"name": "c d", "handler": "m:f"},
        {"name": "e", "handler": "m:f", "depends_on": ["c d"]},
    ]});
    let codes: Vec<&str> = found(&spec).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["bad_name", "bad_name", "bad_name", "cycle"]);
}

#[test]
fn a_date_in_a_name_is_only_warned_about() {
    let dag = accepted(&dag_with(json!({"name": "load_20240115"})));
    assert_eq!(warnings(&dag)[0].place, "load_20240115");
    assert!(warnings(&accepted(&flights())).is_empty());
    assert!(check_definition(&flights()).is_ok());
}
