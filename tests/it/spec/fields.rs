//! One problem of each kind, and several together.

use serde_json::json;

use super::{accepted, clean_with, dag_with, flights, found, problems, refused};
use mainspring::model::{Backoff, Deadline, EdgeKind, OnDeadline};

#[test]
fn a_plain_dag_is_accepted_with_its_defaults() {
    let dag = accepted(&flights());
    assert_eq!(
        (dag.key.as_str(), dag.timezone.as_str(), dag.max_active_runs),
        ("flights", "UTC", 16)
    );
    let clean = &dag.tasks[1];
    assert_eq!(clean.kind, "python");
    assert_eq!(clean.inputs["rows"], "extract");
    assert_eq!(clean.dependencies.len(), 1);
    assert_eq!(clean.dependencies[0].upstream, "flights.extract");
    assert_eq!(clean.dependencies[0].kind, EdgeKind::Success);
    assert_eq!(clean.policy.max_attempts, None);
    let text = serde_json::to_string(&dag).unwrap();
    assert_eq!(serde_json::from_str::<mainspring::model::DagDef>(&text).unwrap(), dag);
}

#[test]
fn several_problems_come_together() {
    let spec = json!({
        "name": "flights",
        "titel": "Flights",
        "timezone": "Asia Shanghai",
        "tasks": [
            {"name": "clean", "handler": "m:f", "retires": 3, "timeout": 30, "depends_on": ["lod"],
             "source": "etl/flights.py:12"},
            {"name": "load", "handler": "m:f", "depends_on": ["load"], "priority": 12},
        ],
    });
    let want = [
        ("unknown_field", "flights.titel"),
        ("bad_timezone", "flights.timezone"),
        ("unknown_field", "flights.clean.retires"),
        ("duration_needs_unit", "flights.clean.timeout"),
        ("bad_priority", "flights.load.priority"),
        ("unknown_upstream", "flights.clean"),
        ("cycle", "flights.load"),
    ];
    let found = found(&spec);
    let found: Vec<(&str, &str)> =
        found.iter().map(|(code, place)| (*code, place.as_str())).collect();
    assert_eq!(found, want);
    let all = problems(&spec);
    assert!(all[2].message.ends_with("(etl/flights.py:12)"), "{}", all[2]);
    assert_eq!(all[2].hint.as_deref(), Some("did you mean `retries`?"));
    assert_eq!(all[5].hint.as_deref(), Some("did you mean `load`?"));
    assert!(all[5].message.ends_with("(etl/flights.py:12)"), "{}", all[5]);
}

#[test]
fn policies_resolve_from_task_to_dag_to_project() {
    let mut spec = dag_with(json!({
        "owner": "data",
        "defaults": {"retries": 2, "timeout": "10m"},
        "project_defaults": {"retries": 5, "priority": "high", "retry_backoff": "fixed"},
    }));
    spec["tasks"][1]["timeout"] = json!(null);
    spec["tasks"][1]["retry_interval_sec"] = json!(2.5);
    let dag = accepted(&spec);
    let (extract, clean) = (&dag.tasks[0].policy, &dag.tasks[1].policy);
    assert_eq!(extract.max_attempts, Some(3));
    assert_eq!(extract.timeout_ms, Some(600_000));
    assert_eq!((extract.priority, extract.retry_backoff), (2, Backoff::Fixed));
    assert_eq!((clean.timeout_ms, clean.retry_interval_ms), (None, 2_500));
    assert_eq!(dag.tasks[1].owner.as_deref(), Some("data"));
}

#[test]
fn retries_and_repeats() {
    refused(
        &clean_with(json!({"retries": 2, "max_attempts": 2})),
        "retries_conflict",
        "flights.clean.retries",
    );
    refused(
        &clean_with(json!({"retries": 1, "idempotent": false})),
        "retry_not_idempotent",
        "flights.clean.retries",
    );
    accepted(&clean_with(json!({"retries": 2, "max_attempts": 3})));
    accepted(&clean_with(json!({"retries": 1, "idempotent": false, "dedup_key": "${biz_date}"})));
    // A default from farther out gives way to the nearer word.
    let mut spec = dag_with(json!({"defaults": {"retries": 3}}));
    spec["tasks"][1]["idempotent"] = json!(false);
    assert_eq!(accepted(&spec).tasks[1].policy.max_attempts, Some(1));
}

#[test]
fn limits_and_deadlines() {
    let policy = |fields| accepted(&clean_with(fields)).tasks[1].policy.clone();
    let limits = |fields| policy(fields).limits.into_iter().collect::<Vec<_>>();
    assert_eq!(limits(json!({"limits": "api"})), [("api".to_owned(), 1)]);
    assert_eq!(limits(json!({"limits": ["b", "a"]})), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
    assert_eq!(limits(json!({"limits": {"api": 2}})), [("api".to_owned(), 2)]);
    assert_eq!(policy(json!({"max_active": 3})).max_active, Some(3));
    let after = |after_ms| Some(Deadline::After { after_ms });
    assert_eq!(policy(json!({"deadline": "2h"})).deadline, after(7_200_000));
    assert_eq!(policy(json!({"deadline_ms": 500})).deadline, after(500));
    assert_eq!(policy(json!({"deadline": 0})).deadline, None);
    let at = Some(Deadline::At { days: 1, second: 27_000 });
    assert_eq!(policy(json!({"deadline": "+1d 07:30"})).deadline, at);
    let cancel = policy(json!({"deadline": "07:30", "on_deadline": "cancel"}));
    assert_eq!(cancel.on_deadline, OnDeadline::Cancel);
    assert_eq!(policy(json!({"block_timeout": "1h"})).block_timeout_ms, Some(3_600_000));
    // Those that exist are known to the caller, or not.
    let mut spec = clean_with(json!({"limits": ["vendor-ap"]}));
    spec["known_limits"] = json!(["vendor-api"]);
    refused(&spec, "unknown_limit", "flights.clean.limits[0]");
    assert_eq!(problems(&spec)[0].hint.as_deref(), Some("did you mean `vendor-api`?"));
    // Nearer words win, an empty list among them.
    let mut spec = dag_with(json!({"defaults": {"limits": ["api"], "deadline": "1h",
        "preemptible": true}}));
    spec["tasks"][1]["limits"] = json!([]);
    spec["tasks"][1]["deadline"] = json!(null);
    spec["tasks"][1]["idempotent"] = json!(false);
    let dag = accepted(&spec);
    assert_eq!(dag.tasks[0].policy.limits.len(), 1);
    assert_eq!(
        (dag.tasks[0].policy.deadline, dag.tasks[0].policy.preemptible),
        (after(3_600_000), true)
    );
    let clean = &dag.tasks[1].policy;
    assert_eq!((clean.limits.len(), clean.deadline, clean.preemptible), (0, None, false));
}

/// What is not said is not in the stored text: older versions read as they did, and the content of
/// a task that says none of it is what it was.
#[test]
fn what_is_not_said_is_not_stored() {
    let text = serde_json::to_string(&accepted(&flights()).tasks[1].policy).unwrap();
    for word in ["max_active", "limits", "deadline", "block_timeout"] {
        assert!(!text.contains(word), "{text}");
    }
}

/// Without serde_json's `float_roundtrip` this number comes back as its neighbour, and the
/// definition as a new version.
#[test]
fn floats_survive_being_stored() {
    let dag = accepted(&clean_with(json!({"params": {"rate": 2.886247644480609e-202}})));
    let text = serde_json::to_string(&dag).unwrap();
    assert_eq!(serde_json::from_str::<mainspring::model::DagDef>(&text).unwrap(), dag);
}
