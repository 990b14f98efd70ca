//! What people get told who wrote something else than they meant.

use mainspring::calendar::{Cron, MAX_LENGTH, Rule, Step, Zone};
use mainspring::model::{Instant, Problem};

fn first(text: &str) -> Problem {
    Cron::parse(text).unwrap_err().0.remove(0)
}

fn hint(problem: Problem) -> String {
    problem.hint.unwrap_or_default()
}

#[test]
fn the_field_and_its_position_are_named() {
    let error = Cron::parse("61 0 24 32 * ?").unwrap_err();
    let places: Vec<&str> = error.0.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(
        places,
        [
            "cron, second (field 1 of 6)",
            "cron, hour (field 3 of 6)",
            "cron, day of month (field 4 of 6)"
        ],
        "all of them at once"
    );
    assert_eq!(first("0 0 * * 8").place, "cron, day of week (field 5 of 5)");
}

#[test]
fn the_message_is_a_sentence() {
    for (text, message) in [
        ("0 0 99 * * ?", "99 is not an hour, which is 0 to 23"),
        ("0 99 * * *", "99 is not an hour, which is 0 to 23"),
        ("99 0 * * *", "99 is not a minute, which is 0 to 59"),
        ("0 NOON * * *", "`NOON` is not an hour"),
        ("0 1,,2 * * *", "an hour is missing"),
        ("1,,2 0 * * *", "a minute is missing"),
    ] {
        assert_eq!(first(text).message, message, "{text}");
    }
}

#[test]
fn the_likely_meaning_is_named() {
    for (text, part) in [
        ("0 0 24 * * ?", "midnight is hour 0"),
        ("0 0 0 ? * 0", "1 is SUN"),
        ("0 0 0 1 1 2", "5 fields mean either"),
        ("0 0 0 ? * MONDAY", "three letters, such as MON"),
        ("0 0 2，3 * * ?", "full-width"),
        ("0 */90 * * * ?", "every(\"90m\")"),
        ("0 16-23/24 * * *", "write 16"),
        ("0 0 30 2 *", "February"),
        ("0 0 31 4,6 *", "last day of any month"),
        ("@every 5m", "every(\"5m\")"),
        ("@dialy", "@daily"),
        ("daily", "@daily"),
        ("6h", "every(\"6h\")"),
        ("Mon 02:00", "OnCalendar"),
        ("0 0 * * L", "FRIL"),
    ] {
        let got = hint(first(text));
        assert!(got.contains(part), "{text}: {got}");
    }
}

#[test]
fn size_is_refused_before_anything_is_read() {
    assert_eq!(first(&"1,".repeat(MAX_LENGTH)).code, "too_long");
    let list = vec!["1"; 1000].join(",");
    assert_eq!(first(&format!("{list} * * * *")).code, "too_long");
    assert_eq!(first("99999999999999999999 * * * *").code, "out_of_range");
    assert!(Cron::parse("0000000000000000000000005 * * * *").is_ok());
}

#[test]
fn zones_are_names_of_cities_and_nothing_else() {
    for (name, part) in [
        ("Asia/Beijing", "Asia/Shanghai"),
        ("CST", "America/Chicago"),
        ("GMT+8", "Etc/GMT-8"),
        ("+08:00", "Etc/GMT-8"),
        ("asia/shanghai", "Asia/Shanghai"),
        ("Asia/Shanghia", "Asia/Shanghai"),
        ("Shanghai", "Asia/Shanghai"),
        ("America/NewYork", "America/New_York"),
        ("Local", "never used"),
        ("", "Asia/Shanghai"),
    ] {
        let problem = Zone::named(name).unwrap_err();
        assert_eq!(problem.code, "unknown_zone");
        assert!(hint(problem.clone()).contains(part), "{name}: {problem}");
    }
    for name in
        ["/etc/localtime", "../UTC", "UTC\0", "Etc/Unknown", "Factory", "Asia", "posixrules"]
    {
        assert_eq!(Zone::named(name).unwrap_err().code, "unknown_zone", "{name}");
    }
    for name in
        ["UTC", "Etc/UTC", "GMT", "US/Eastern", "PRC", "Etc/GMT-8", "America/Argentina/Ushuaia"]
    {
        assert_eq!(Zone::named(name).unwrap().name(), name);
    }
}

#[test]
fn intervals_are_read_or_refused() {
    for text in ["90m", "6h", "30s", "1d", "2w", "1M", "1y"] {
        assert_eq!(Step::parse(text).unwrap().to_string(), text);
    }
    for (text, code) in [
        ("", "syntax"),
        ("5", "syntax"),
        ("m", "syntax"),
        ("1.5h", "syntax"),
        ("-1h", "syntax"),
        ("1h30m", "syntax"),
        ("1 d", "syntax"),
        ("0m", "bad_step"),
        ("0d", "bad_step"),
        ("101y", "bad_step"),
        ("99999999999999999999s", "bad_step"),
    ] {
        assert_eq!(Step::parse(text).unwrap_err().code, code, "{text}");
    }
}

#[test]
fn the_ends_of_time_are_ends_and_no_crashes() {
    let zone = Zone::named("America/New_York").unwrap();
    let anchor = Instant(0);
    for rule in [
        Rule::cron("* * * * * ?", &zone).unwrap(),
        Rule::cron("0 0 29 2 *", &zone).unwrap(),
        Rule::every("1M", anchor, &zone).unwrap(),
        Rule::every("1d", anchor, &zone).unwrap(),
        Rule::every("1s", anchor, &zone).unwrap(),
        Rule::at(vec![anchor], &zone),
    ] {
        assert_eq!(rule.next(Instant(i64::MAX)), None);
        assert_eq!(rule.prev(Instant(i64::MIN)), None);
        let (first, last) =
            (rule.next(Instant(i64::MIN)).unwrap(), rule.prev(Instant(i64::MAX)).unwrap());
        assert!(first.at <= last.at, "{rule:?}");
        assert_eq!((rule.prev(first.at), rule.next(last.at)), (None, None), "{rule:?}");
    }
    assert_eq!(Rule::at(vec![], &zone).next(Instant(0)), None);
}
