//! Whatever JSON comes, there is a definition or at least one problem.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use mainspring::engine::check_definition;
use mainspring::model::key::{NameKind, check_name};
use mainspring::model::{DagDef, duration, params};

/// Names that mean something, so that the reading goes deep, and some that do not.
const WORDS: &[&str] = &[
    "name",
    "title",
    "owner",
    "labels",
    "timezone",
    "schedule",
    "schedules",
    "start_date",
    "end_date",
    "biz_offset",
    "defaults",
    "known_pools",
    "tasks",
    "type",
    "handler",
    "config",
    "params",
    "param_schema",
    "inputs",
    "injected",
    "depends_on",
    "map",
    "shards",
    "argument",
    "items",
    "param",
    "result",
    "max_active",
    "shardIndex",
    "upstream",
    "kind",
    "offset",
    "window",
    "pattern",
    "retries",
    "max_attempts",
    "retry_interval",
    "retry_interval_ms",
    "retry_cap",
    "retry_jitter",
    "retry_on",
    "timeout",
    "timeout_sec",
    "priority",
    "pool",
    "slots",
    "version",
    "source",
    "nullable",
    "required",
    "default",
    "choices",
    "expression",
    "python",
    "noop",
    "int",
    "date",
    "enum",
    "a",
    "b",
    "a.b",
    "a.b.v2",
    "30s",
    "PT1H",
    "2024-01-15",
    "OUTPUT_MATCH",
    "WEAK",
    "\u{202e}",
    "cafe\u{301}",
    "",
    "${x}",
    "(",
    "@daily",
    "UTC",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..12).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn task() -> impl Strategy<Value = Value> {
    let name = proptest::sample::select(&["a", "b", "c", "d"][..]);
    let edges =
        proptest::collection::vec(proptest::sample::select(&["a", "b", "c", "x"][..]), 0..3);
    (name, edges, proptest::collection::vec((text(), value()), 0..3)).prop_map(
        |(name, edges, more)| {
            let mut task = Map::from_iter(more);
            task.insert("name".into(), json!(name));
            task.insert("handler".into(), json!("m:f"));
            task.insert("depends_on".into(), json!(edges));
            Value::Object(task)
        },
    )
}

fn settled(spec: &Value) {
    match check_definition(spec) {
        Err(error) => {
            assert!(!error.0.is_empty());
            let shown = error.to_string();
            assert!(!shown.contains(['\u{202e}', '\u{1b}', '\0']), "{shown:?}");
        }
        Ok(dag) => {
            let text = serde_json::to_string(&dag).unwrap();
            assert_eq!(serde_json::from_str::<DagDef>(&text).unwrap(), dag);
            let _ = params::bind_dag(&dag.key, dag.tasks.iter(), &Map::new());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn on_any_json(spec in value()) {
        settled(&spec);
    }

    #[test]
    fn on_nearly_right_dags(
        tasks in proptest::collection::vec(task(), 0..4),
        more in proptest::collection::vec((text(), value()), 0..3),
    ) {
        let mut spec = Map::from_iter(more);
        spec.insert("name".into(), json!("flights"));
        spec.insert("tasks".into(), json!(tasks));
        settled(&Value::Object(spec));
    }

    #[test]
    fn on_any_name(name in any::<String>()) {
        if let Ok(name) = check_name(NameKind::Task, &name, "") {
            assert_eq!(check_name(NameKind::Task, &name, "").unwrap(), name);
        }
    }

    #[test]
    fn on_any_duration(text in any::<String>(), millis in 0..=duration::LONGEST_MS) {
        let _ = duration::parse(&text);
        assert_eq!(duration::parse(&duration::print(millis)).unwrap(), millis);
    }
}
