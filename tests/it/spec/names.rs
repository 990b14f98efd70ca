//! What a name may be.

use mainspring::model::key::{NameKind, check_name, looks_like_a_date, split_versioned};

#[test]
fn names_that_are_fine() {
    for name in ["clean", "订单结算", "заказ_2", "Load-2", "_x", "हिन्दी", "2024-01-15", "v2", "ß"]
    {
        assert_eq!(check_name(NameKind::Task, name, "").unwrap(), name);
    }
    let longest = "x".repeat(128);
    assert_eq!(check_name(NameKind::Task, &longest, "").unwrap(), longest);
}

#[test]
fn decomposed_letters_become_one() {
    assert_eq!(check_name(NameKind::Task, "cafe\u{301}", "").unwrap(), "caf\u{e9}");
    assert_eq!(check_name(NameKind::Task, "\u{1112}\u{1161}\u{11ab}", "").unwrap(), "한");
}

#[test]
fn names_that_are_not() {
    for (name, says, like) in [
        (
            "my task",
            "character 3 of the task name is U+0020: names have no spaces",
            Some("my_task"),
        ),
        ("a\u{7}b", "character 2 of the task name is U+0007: names have no control", Some("a_b")),
        (
            "a\u{202e}b",
            "character 2 of the task name is U+202E: names have no direction",
            Some("ab"),
        ),
        ("go\u{1f680}", "U+1F680: names have no emoji", Some("go")),
        ("i\u{2764}\u{fe0f}x", "U+2764: names have no emoji", Some("i_x")),
        ("1\u{fe0f}\u{20e3}", "U+FE0F: names have no invisible", Some("1")),
        ("a\u{3164}b", "U+3164: names have no invisible", Some("ab")),
        ("a\u{200b}b", "U+200B", Some("a_b")),
        ("order.settle", "`.` (U+002E): a dot parts the dag from the task", Some("order_settle")),
        ("../etc", "character 1 of", Some("etc")),
        ("a/b", "`/` (U+002F)", Some("a_b")),
        ("load_${biz_date}", "placeholder at character 6", Some("load_biz_date")),
        ("-rf", "a name does not begin with it", Some("rf")),
        ("", "is empty", None),
        ("\u{1f680}", "emoji", None),
    ] {
        let problem = check_name(NameKind::Task, name, "here").unwrap_err();
        assert_eq!((problem.code, problem.place.as_str()), ("bad_name", "here"), "{name:?}");
        assert!(problem.message.contains(says), "{name:?}: {}", problem.message);
        assert!(!problem.message.contains(['\u{202e}', '\u{7}']), "{name:?}");
        let hint = problem.hint.unwrap();
        match like {
            Some(like) => {
                assert_eq!(hint, format!("did you mean `{like}`?"));
                assert!(check_name(NameKind::Task, like, "").is_ok(), "{like}");
            }
            None => assert!(!hint.contains("did you mean"), "{hint}"),
        }
    }
}

#[test]
fn long_names_are_refused_however_long() {
    for length in [129, 200, 1_000_000] {
        let problem = check_name(NameKind::Dag, &"x".repeat(length), "").unwrap_err();
        assert_eq!(problem.code, "bad_name");
        assert!(problem.message.contains("at most 128"), "{}", problem.message);
        assert!(problem.hint.unwrap().len() < 200);
    }
}

#[test]
fn the_whole_key_has_to_fit() {
    use super::{dag_with, flights, found};
    let mut spec = flights();
    spec["tasks"][0]["name"] = "x".repeat(121).into();
    spec["tasks"][1]["inputs"] = serde_json::json!({});
    let found = found(&spec);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "bad_name");
    spec["tasks"][0]["name"] = "x".repeat(120).into();
    super::accepted(&spec);
    assert_eq!(
        super::found(&dag_with(serde_json::json!({"name": "x".repeat(200)})))[0].0,
        "bad_name"
    );
}

#[test]
fn versions_are_read_off_keys() {
    for (key, want) in [
        ("order.settle.v2", ("order.settle", Some(2))),
        ("order.settle", ("order.settle", None)),
        ("order.v2", ("order.v2", None)),
        ("order.settle.vx", ("order.settle.vx", None)),
        ("order.settle.v+2", ("order.settle.v+2", None)),
        ("order.settle.v99999999999", ("order.settle.v99999999999", None)),
        ("", ("", None)),
    ] {
        assert_eq!(split_versioned(key), want, "{key}");
    }
    let spec = super::clean_with(serde_json::json!({"name": "flights.clean.v3"}));
    let dag = super::accepted(&spec);
    assert_eq!((dag.tasks[1].name.as_str(), dag.tasks[1].authored_version), ("clean", Some(3)));
}

#[test]
fn dates_in_names_are_seen() {
    for (name, want) in [
        ("2024-01-15", true),
        ("load_20240115", true),
        ("load-2024_01_15-x", true),
        ("20240115", true),
        ("20241315", false),
        ("1234567890", false),
        ("2024-01-155", false),
        ("order12345678", false),
        ("订单20240115", true),
        ("v2", false),
        ("", false),
    ] {
        assert_eq!(looks_like_a_date(name), want, "{name}");
    }
}
