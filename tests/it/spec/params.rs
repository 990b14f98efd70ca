//! Parameters: the schema, and the values of a run.

use serde_json::{Map, Value, json};

use super::{accepted, clean_with, refused};
use mainspring::model::Problem;
use mainspring::model::params::{bind, bind_dag, check_schema, fill_biz_date};
use mainspring::model::{Date, Param, ParamType};

fn param(name: &str, kind: ParamType) -> Param {
    Param {
        name: name.to_owned(),
        kind,
        nullable: false,
        required: true,
        default: None,
        choices: Vec::new(),
    }
}

fn one(kind: ParamType, value: Value) -> Result<Value, Problem> {
    let given = Map::from_iter([("p".to_owned(), value)]);
    match bind(&[param("p", kind)], &given, "flights") {
        Ok(bound) => Ok(bound["p"].clone()),
        Err(mut problems) => {
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].place, "flights.p");
            Err(problems.remove(0))
        }
    }
}

fn with_schema(scheduled: bool, param: Value) -> Value {
    let mut spec = clean_with(json!({"param_schema": [param]}));
    if scheduled {
        spec["schedule"] = json!("@daily");
    }
    spec
}

/// Scenario G01: required parameters, None, and defaults on scheduled runs.
#[test]
fn required_parameters_and_their_values() {
    // 1: required, no default, scheduled: refused when it is registered ...
    let required = json!({"name": "region", "type": "str"});
    refused(&with_schema(true, required.clone()), "required_without_value", "flights.clean.region");
    // ... unless the run fills it, or the schedule does.
    accepted(&with_schema(true, json!({"name": "bizDate", "type": "date", "required": true})));
    let mut spec = with_schema(false, required.clone());
    spec["schedule"] = json!({"expression": "@daily", "params": {"region": "eu"}});
    accepted(&spec);
    // 2: required, no default, manual: accepted, and refused when the run is asked for.
    let dag = accepted(&with_schema(false, required));
    let problems = bind_dag("flights", dag.tasks.iter(), &Map::new()).unwrap_err();
    assert_eq!(
        (problems[0].code, problems[0].place.as_str()),
        ("missing_parameter", "flights.clean.region")
    );
    // 3: default None of a nullable type.
    let dag = accepted(&with_schema(
        true,
        json!({"name": "region", "type": "str", "nullable": true, "default": null}),
    ));
    assert!(bind_dag("flights", dag.tasks.iter(), &Map::new()).unwrap().is_empty());
    let bound = bind(&dag.tasks[1].param_schema, &Map::new(), "flights.clean").unwrap();
    assert_eq!(bound["region"], Value::Null);
    let text = serde_json::to_string(&dag).unwrap();
    assert_eq!(serde_json::from_str::<mainspring::model::DagDef>(&text).unwrap(), dag);
    // 4: a default that violates its own type.
    for param in [
        json!({"name": "n", "type": "int", "default": "5"}),
        json!({"name": "n", "type": "int", "default": null}),
        json!({"name": "n", "type": "int", "required": false}),
        json!({"name": "n", "type": "enum", "choices": ["a", "b"], "default": "c"}),
    ] {
        refused(&with_schema(false, param), "bad_default", "flights.clean.n");
    }
    // 5: a day that does not exist. 6: not yyyy-mm-dd.
    for date in ["2024-02-30", "2024-6-1", "20240601", "2024-06-01T00:00:00"] {
        let problem = one(ParamType::Date, json!(date)).unwrap_err();
        assert_eq!(problem.code, "bad_date", "{date}");
        assert!(problem.hint.is_some());
    }
    // 7: text is not a number. 8: 5.0 is 5. 9: true is not 1.
    let problem = one(ParamType::Int, json!("5")).unwrap_err();
    assert_eq!(problem.code, "wrong_type");
    assert_eq!(problem.hint.as_deref(), Some("did you mean 5, without quotes?"));
    assert_eq!(one(ParamType::Int, json!(5.0)).unwrap(), json!(5));
    assert_eq!(one(ParamType::Int, json!(true)).unwrap_err().code, "wrong_type");
    // 10: an unknown parameter, 11: a shard beyond the total; with a third, all at once.
    let schema = [
        param("shardIndex", ParamType::Int),
        param("shardTotal", ParamType::Int),
        param("region", ParamType::Str),
    ];
    let given = json!({"shardIndex": 4, "shardTotal": 4, "regoin": "eu"});
    let problems = bind(&schema, given.as_object().unwrap(), "flights").unwrap_err();
    let found: Vec<_> = problems.iter().map(|p| (p.code, p.place.as_str())).collect();
    assert_eq!(
        found,
        [
            ("unknown_parameter", "flights.regoin"),
            ("missing_parameter", "flights.region"),
            ("bad_shard", "flights.shardIndex"),
        ]
    );
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `region`?"));
}

#[test]
fn every_type_takes_its_values_and_no_others() {
    use ParamType::*;
    for (kind, value) in [
        (Str, json!("")),
        (Int, json!(i64::MIN)),
        (Float, json!(1.5)),
        (Bool, json!(false)),
        (Date, json!("2024-02-29")),
        (Datetime, json!("2024-02-29T08:30:00.123+08:00")),
        (Datetime, json!("2024-02-29 08:30")),
        (Datetime, json!("2024-02-29T08:30:00Z")),
        (Duration, json!("1h30m")),
        (List, json!([1, "a"])),
        (Object, json!({"a": 1})),
        (Any, json!(null)),
        (Any, json!([true])),
    ] {
        assert_eq!(one(kind, value.clone()).unwrap(), value, "{kind}");
    }
    assert_eq!(one(Float, json!(5)).unwrap(), json!(5.0));
    for (kind, value, code) in [
        (Str, json!(5), "wrong_type"),
        (Str, json!(null), "wrong_type"),
        (Str, json!("x".repeat(1 << 20)), "too_large"),
        (Int, json!(5.5), "wrong_type"),
        (Int, json!(u64::MAX), "out_of_range"),
        (Int, json!(1e18), "out_of_range"),
        (Float, json!("NaN"), "wrong_type"),
        (Float, json!(true), "wrong_type"),
        (Float, json!(9_007_199_254_740_993_i64), "out_of_range"),
        (Bool, json!(1), "wrong_type"),
        (Bool, json!("true"), "wrong_type"),
        (Datetime, json!("2024-02-29"), "bad_datetime"),
        (Datetime, json!("2024-02-30T00:00"), "bad_datetime"),
        (Datetime, json!("2024-02-29T24:00"), "bad_datetime"),
        (Datetime, json!("2024-02-29T08:30:00+0800"), "bad_datetime"),
        (Datetime, json!("２024-02-29T08"), "bad_datetime"),
        (Duration, json!("90"), "duration_needs_unit"),
        (Duration, json!(90), "duration_needs_unit"),
        (List, json!({}), "wrong_type"),
        (Object, json!([]), "wrong_type"),
    ] {
        if code == "too_large" {
            // The value, and with it the whole.
            let given = Map::from_iter([("p".to_owned(), value)]);
            let problems = bind(&[param("p", kind)], &given, "").unwrap_err();
            assert!(problems.iter().all(|problem| problem.code == code));
            continue;
        }
        assert_eq!(one(kind, value.clone()).unwrap_err().code, code, "{kind} {value}");
    }
}

#[test]
fn choices() {
    let param = Param {
        choices: vec![json!("day"), json!("hour"), json!(5)],
        ..param("p", ParamType::Enum)
    };
    let give = |value: Value| {
        bind(std::slice::from_ref(&param), &Map::from_iter([("p".to_owned(), value)]), "")
            .map_err(|problems| problems[0].clone())
    };
    assert!(give(json!("day")).is_ok() && give(json!(5)).is_ok());
    let problem = give(json!("dya")).unwrap_err();
    assert_eq!(
        (problem.code, problem.hint.as_deref()),
        ("not_a_choice", Some("did you mean \"day\"?"))
    );
    assert!(give(json!("5")).is_err() && give(json!(null)).is_err());
}

#[test]
fn schemas_that_make_no_sense() {
    for (param, code) in [
        (json!({"name": "a b", "type": "int"}), "bad_name"),
        (json!({"name": "ctx", "type": "int"}), "reserved_name"),
        (json!({"name": "biz_date", "type": "str"}), "reserved_name"),
        (json!({"name": "p", "type": "enum"}), "bad_choices"),
        (json!({"name": "p", "type": "int", "choices": [1, "2"]}), "bad_choices"),
        (json!({"name": "p", "type": "enum", "choices": ["a", "a"]}), "bad_choices"),
    ] {
        let place = format!("flights.clean.{}", param["name"].as_str().unwrap());
        refused(&with_schema(false, param), code, &place);
    }
    for (param, code, field) in [
        (json!({"name": "p", "type": "strr"}), "unknown_param_type", "p.type"),
        (json!({"name": "p"}), "missing_field", "p.type"),
        (json!({"type": "int"}), "missing_field", "param_schema[0].name"),
        (
            json!({"name": "p", "type": "int", "required": true, "default": 1}),
            "bad_parameter",
            "p.required",
        ),
        (json!({"name": "p", "type": "int", "defualt": 1}), "unknown_field", "p.defualt"),
    ] {
        refused(&with_schema(false, param), code, &format!("flights.clean.{field}"));
    }
    let twice = [param("p", ParamType::Int), param("p", ParamType::Str)];
    assert_eq!(check_schema(&twice, "x")[0].code, "duplicate_parameter");
    let both = clean_with(json!({
        "params": {"p": 1}, "param_schema": [{"name": "p", "type": "int"}],
    }));
    refused(&both, "duplicate_parameter", "flights.clean.p");
}

#[test]
fn what_a_schedule_gives_is_checked_too() {
    let mut spec = with_schema(false, json!({"name": "region", "type": "str"}));
    spec["schedule"] = json!({"expression": "@daily", "params": {"region": 5}});
    refused(&spec, "wrong_type", "flights.default.region");
    spec["schedule"] = json!({"expression": "@daily", "params": {"region": "eu", "regio": 5}});
    refused(&spec, "unknown_parameter", "flights.default.regio");
}

#[test]
fn the_run_gives_its_date_to_those_that_have_none() {
    let schema = [param("bizDate", ParamType::Date), param("day", ParamType::Date)];
    let mut given = Map::new();
    fill_biz_date(&schema, &mut given, Date::parse("2024-01-14").unwrap());
    assert_eq!(Value::from(given.clone()), json!({"bizDate": "2024-01-14"}));
    given["bizDate"] = json!("2024-01-01");
    fill_biz_date(&schema, &mut given, Date::parse("2024-01-14").unwrap());
    assert_eq!(given["bizDate"], "2024-01-01");
}
