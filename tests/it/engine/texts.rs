//! Texts with placeholders: checked at registration, filled in from a run's own facts alone.

use std::collections::BTreeMap;

use mainspring::engine::{
    Asked, Filled, Filling, Times, check_definition, fill, preview, results_asked,
};
use mainspring::model::{DagDef, Date, Instant, Problem, TaskDef};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A dag of two tasks, `a` before `b`; these fields are those of `b`.
fn spec(fields: Value) -> Value {
    let mut b = json!({"name": "b", "handler": "m:b", "depends_on": ["a"]});
    for (name, value) in fields.as_object().unwrap() {
        b[name] = value.clone();
    }
    json!({"name": "d", "tasks": [{"name": "a", "handler": "m:a"}, b]})
}

fn dag(fields: Value) -> DagDef {
    check_definition(&spec(fields)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(fields: Value) -> Vec<Problem> {
    check_definition(&spec(fields)).unwrap_err().0
}

fn times(timezone: &str) -> Times<'_> {
    Times {
        // 2024-03-15T02:00:00+08:00
        nominal_at: Instant(1_710_439_200_000_000),
        biz_date: Date::parse("2024-03-14").unwrap(),
        interval: (Instant(1_710_352_800_000_000), Instant(1_710_439_200_000_000)),
        timezone,
    }
}

fn filled(
    task: &TaskDef,
    params: Value,
    result: &dyn Fn(&str) -> Value,
) -> Result<Filled, Vec<Problem>> {
    let Value::Object(params) = params else { panic!("{params}") };
    let filling = Filling {
        item: None,
        dag: "d",
        times: times("Asia/Shanghai"),
        params: &params,
        result: Some(result),
        secret: &|name| (name == "DB").then(|| "hunter2".to_owned()),
    };
    fill(task, &filling).map_err(|error| error.0)
}

/// What one text in `config` becomes; `a` has returned this.
fn text(text: &str, result: Value) -> Result<Value, Problem> {
    let dag = dag(json!({"config": {"text": text}, "params": {"day": "${today}", "size": 5},
                         "param_schema": [{"name": "n", "type": "int", "default": 7},
                                          {"name": "day_off", "type": "date"},
                                          {"name": "none", "type": "str", "nullable": true,
                                           "required": false}]}));
    let done = filled(&dag.tasks[1], json!({}), &|_| result.clone());
    done.map(|filled| filled.config["text"].clone()).map_err(|mut problems| problems.remove(0))
}

#[test]
fn every_problem_is_told_at_once_with_its_place_and_position() {
    let found = refused(json!({
        "params": {"day": "on ${biz_dat}", "deep": [{"x": "${params.day}"}]},
        "config": {"sql": "select ${params.sise}, ${result.aa} from ${ident:params.size}",
                   "key": "${secret:a-b}", "path": "$[0].x"},
        "dedup_key": "${result.c}/${biz_date:YYYY}",
        "param_schema": [{"name": "size", "type": "int", "default": 1}],
    }));
    let rows: Vec<(&str, &str)> = found.iter().map(|p| (p.code, p.place.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("unknown_name", "d.b.params.day"),
            ("unknown_parameter", "d.b.params.deep[0].x"),
            ("bad_secret", "d.b.config.key"),
            ("syntax", "d.b.config.path"),
            ("unknown_parameter", "d.b.config.sql"),
            ("unknown_result", "d.b.config.sql"),
            ("syntax", "d.b.dedup_key"),
        ]
    );
    assert!(found[0].message.ends_with("(at character 4)"), "{}", found[0].message);
    assert_eq!(found[0].hint.as_deref(), Some("did you mean biz_date?"));
    assert_eq!(found[4].hint.as_deref(), Some("did you mean `size`?"));
    assert_eq!(found[5].hint.as_deref(), Some("did you mean `a`?"));
    assert!(found.iter().all(|problem| problem.hint.is_some()), "{found:?}");
    let filled_by_the_run = refused(json!({"injected": ["biz_date"],
                                           "config": {"x": "${params.biz_date}"}}));
    let hint = filled_by_the_run[0].hint.as_deref();
    assert_eq!(hint, Some("the run's own is `${biz_date}`"));
    // What can be read but names nothing is told as well.
    let unknown = refused(json!({"dedup_key": "${result.c}"}));
    assert_eq!((unknown[0].code, unknown[0].place.as_str()), ("unknown_result", "d.b.dedup_key"));
}

#[test]
fn only_what_a_task_waits_for_in_the_same_run_has_a_result() {
    let weak = json!([{"upstream": "a", "kind": "WEAK"}]);
    for (edges, accepted) in [
        (json!(["a"]), true),
        (json!([{"upstream": "a", "kind": "COMPLETED"}]), true),
        (weak, false),
        (json!([]), false),
    ] {
        let spec = spec(json!({"depends_on": edges, "config": {"x": "${result.a}"}}));
        let found = check_definition(&spec);
        assert_eq!(found.is_ok(), accepted, "{edges}: {found:?}");
        if let Err(error) = found {
            assert_eq!(error.0[0].code, "unknown_result", "{edges}");
        }
    }
}

#[test]
fn a_text_that_is_one_placeholder_is_the_value_and_any_other_is_text() {
    let result = json!({"rows": [3, 4], "path": "x/${today}", "ok": true});
    for (written, expected) in [
        ("${result.a}", result.clone()),
        ("${result.a.rows}", json!([3, 4])),
        ("${result.a.rows.1}", json!(4)),
        ("${result.a.rows.1} rows", json!("4 rows")),
        ("${result.a.rows}!", json!("[3,4]!")),
        ("${result.a.ok} ${params.n}", json!("true 7")),
        ("${params.n}", json!(7)),
        ("${params.size}", json!(5)),
        ("${params.none}", Value::Null),
        ("${biz_date}", json!("2024-03-14")),
        // One pass: what comes out of a value is never read again.
        ("${result.a.path} ${params.day}", json!("x/${today} 2024-03-15")),
        (
            "${interval_start} ${interval_end}",
            json!("2024-03-14T02:00:00+08:00 2024-03-15T02:00:00+08:00"),
        ),
        ("${secret:DB}", json!("hunter2")),
    ] {
        assert_eq!(text(written, result.clone()).unwrap(), expected, "{written}");
    }
    // A date that nobody gave is the run's, as it is for the handler.
    assert_eq!(text("${params.day_off}", Value::Null).unwrap(), json!("2024-03-14"));
}

#[test]
fn what_a_run_cannot_fill_in_is_a_problem_with_a_hint() {
    for (written, result, code) in [
        ("${result.a.no}", json!({"yes": 1}), "no_field"),
        ("${result.a.2}", json!([1, 2]), "no_field"),
        ("${result.a.x.y}", json!({"x": "text"}), "no_field"),
        ("${result.a}", json!("x".repeat(2 << 20)), "too_large"),
        ("rows: ${result.a}", Value::Null, "no_value"),
        ("${params.none}!", Value::Null, "no_value"),
        ("${secret:NONE}", Value::Null, "no_secret"),
        ("${ident:result.a}", json!("a; drop"), "bad_identifier"),
        ("${today - 900000d}", Value::Null, "out_of_range"),
    ] {
        let problem = text(written, result).unwrap_err();
        assert_eq!((problem.code, problem.place.as_str()), (code, "config.text"), "{written}");
    }
    let problem = text("${result.a.no}", json!({"yes": 1, "b": 2})).unwrap_err();
    assert_eq!(problem.hint.as_deref(), Some("it has b, yes"));
}

/// A million placeholders of one large result would be a terabyte.
#[test]
fn many_placeholders_are_refused_by_the_sum_of_what_they_bring() {
    let many = "${result.a}".repeat(50_000);
    let problem = text(&many, json!("x".repeat(100_000))).unwrap_err();
    assert_eq!(problem.code, "too_large");
}

#[test]
fn names_with_dots_are_found_before_fields() {
    let dag = dag(json!({
        "params": {"a": {"x": "of a", "y": "y of a"}, "a.x": {"y": "y of a.x"}},
        "config": {"one": "${params.a.x}", "two": "${params.a.y}", "three": "${params.a.x.y}"},
    }));
    let config = filled(&dag.tasks[1], json!({}), &|_| Value::Null).unwrap().config;
    assert_eq!(config["one"], json!({"y": "y of a.x"}));
    assert_eq!((&config["two"], &config["three"]), (&json!("y of a"), &json!("y of a.x")));
}

#[test]
fn only_the_results_that_are_asked_for_are_looked_up() {
    let asked = |fields: Value| results_asked("d", &dag(fields).tasks[1]);
    assert!(asked(json!({"config": {"x": "$${result.a} ${today}"}})).is_empty());
    let found = asked(json!({"config": {"x": ["${result.a.b.c}"]}, "dedup_key": "${result.a}"}));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn what_is_kept_is_what_differs() {
    let dag = dag(json!({"config": {"x": "${biz_date}", "same": "a", "cost": "5 $"},
                         "params": {"one": 1}, "dedup_key": "k-${biz_date:yyyyMMdd}"}));
    let done = filled(&dag.tasks[1], json!({}), &|_| Value::Null).unwrap();
    let kept: Value = serde_json::from_str(&done.kept(&dag.tasks[1]).unwrap()).unwrap();
    assert_eq!(kept, json!({"config": {"x": "2024-03-14"}, "dedup_key": "k-20240314"}));
    let plain = &dag.tasks[0];
    assert_eq!(filled(plain, json!({}), &|_| Value::Null).unwrap().kept(plain), None);
}

fn instant(text: &str) -> Instant {
    let (local, offset) = text.split_at(text.len() - 6);
    let day = Date::parse(&local[..10]).unwrap();
    let number = |text: &str| text.parse::<i64>().unwrap();
    let clock = number(&local[11..13]) * 3600 + number(&local[14..16]) * 60 + number(&local[17..]);
    let ahead = number(&offset[1..3]) * 3600 + number(&offset[4..6]) * 60;
    let ahead = if offset.starts_with('-') { -ahead } else { ahead };
    Instant((i64::from(day.0) * 86_400 + clock - ahead) * 1_000_000)
}

/// The cases of `tests/data/time/template.jsonl`, through the preview, which asks the schedule.
#[test]
fn the_cases_of_texts() {
    let path = format!("{}/tests/data/time/template.jsonl", env!("CARGO_MANIFEST_DIR"));
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (input, expect) = (&case["input"], &case["expect"]);
        let mut spec = spec(json!({"config": {"text": input["text"]}}));
        spec["timezone"] = input["tz"].clone();
        if let Some(schedule) = input.get("schedule") {
            spec["schedule"] = schedule.clone();
        }
        let dag = match check_definition(&spec) {
            Ok(dag) => dag,
            Err(error) => {
                assert_eq!(error.0[0].code, expect["error"], "{line}");
                let at = format!("(at character {})", expect["at"]);
                assert!(error.0[0].message.ends_with(&at), "{line}: {error}");
                continue;
            }
        };
        let asked = Asked {
            nominal_at: input["nominal_at"].as_str().map(instant),
            biz_date: input["biz_date"].as_str().map(|text| Date::parse(text).unwrap()),
            interval: None,
        };
        let now = input["now"].as_str().map_or(Instant(0), instant);
        let found = preview(&dag, Some("b"), asked, &Map::new(), now).unwrap();
        // A text without a dollar has no placeholder, and is not listed.
        let after = found.texts.first().map_or(&input["text"], |text| &text.after);
        assert_eq!(after, expect, "{line}");
    }
}

#[test]
fn a_preview_shows_what_a_run_would_have_to_bring_as_it_is_written() {
    let dag = dag(json!({
        "config": {"one": "${result.a.rows} of ${params.who}", "two": "${ident:params.who}",
                   "key": "${secret:X}", "plain": "nothing"},
        "param_schema": [{"name": "who", "type": "str"}],
    }));
    let asked = Asked { biz_date: Some(Date::parse("2024-03-14").unwrap()), ..Asked::default() };
    let show = |given: Value| -> Vec<Value> {
        let Value::Object(given) = given else { panic!("{given}") };
        let found = preview(&dag, None, asked, &given, Instant(0)).unwrap();
        assert!(found.texts.iter().all(|text| text.task == "b"));
        found.texts.into_iter().map(|text| text.after).collect()
    };
    let (rows, who) = ("${result.a.rows}", "${params.who}");
    assert_eq!(
        show(json!({})),
        [json!("***"), json!(format!("{rows} of {who}")), json!("${ident:params.who}")]
    );
    assert_eq!(
        show(json!({"who": "me"})),
        [json!("***"), json!(format!("{rows} of me")), json!("me")]
    );
    let refused = |task, given: Value| {
        let Value::Object(given) = given else { panic!("{given}") };
        preview(&dag, task, asked, &given, Instant(0)).unwrap_err().0[0].code
    };
    assert_eq!(refused(Some("bb"), json!({})), "unknown_task");
    assert_eq!(refused(None, json!({"who": 5})), "wrong_type");
    assert_eq!(refused(None, json!({"whom": "x"})), "unknown_parameter");
}

proptest! {
    /// Text of a value arrives as it is, whatever it looks like.
    #[test]
    fn values_are_transparent(value in "\\PC{0,40}|[${}\\[\\]a-z.:]{0,40}") {
        let found = text("${result.a}", json!(value)).unwrap();
        prop_assert_eq!(&found, &json!(value));
        let found = text("<${result.a}>", json!(value)).unwrap();
        prop_assert_eq!(found, json!(format!("<{value}>")));
    }

    /// A text is refused or filled in, never a panic; without `${` and `$[` it stays as it is.
    #[test]
    fn any_text_is_refused_or_filled_in(written in "[${}\\[\\]a-z0-9 .:+-]{0,60}") {
        let spec = spec(json!({"config": {"text": written}}));
        let opens = written.contains("${") || written.contains("$[");
        match check_definition(&spec) {
            Err(_) => prop_assert!(opens),
            Ok(dag) => {
                let done = filled(&dag.tasks[1], json!({}), &|_| json!(1));
                if !opens {
                    prop_assert_eq!(&done.unwrap().config["text"], &json!(written));
                }
            }
        }
    }

    /// Doubling the dollar of every opening makes any text stand for itself.
    #[test]
    fn escaped_text_stands_for_itself(written in "[${}\\[\\]a-z]{0,40}") {
        // A dollar before the doubled one would pair up with it: such texts cannot be written so.
        prop_assume!(!written.contains("$$"));
        let escaped = written.replace("${", "$${").replace("$[", "$$[");
        let dag = dag(json!({"config": {"text": escaped}}));
        let config: BTreeMap<String, Value> =
            filled(&dag.tasks[1], json!({}), &|_| Value::Null).unwrap().config;
        prop_assert_eq!(&config["text"], &json!(written));
    }
}
