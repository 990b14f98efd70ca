//! Random schedules with the answers of a slow and simple evaluator of the same rules, written in
//! another language over another copy of the zone database.

use mainspring::calendar::{ClockChange, Rule, Zone};
use mainspring::model::Instant;

use super::support::file;

fn numbers(text: &str) -> Vec<i64> {
    text.split(',').filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect()
}

#[test]
fn next_and_prev_agree_on_random_schedules() {
    let text = file("random.tsv");
    let mut accepted = 0;
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [expr, zone, instant, next, prev] = columns[..] else { panic!("{line}") };
        let instant = Instant::from_secs(instant.parse().unwrap());
        let rule = match Rule::cron(expr, &Zone::named(zone).unwrap()) {
            Ok(rule) => rule,
            Err(error) => {
                assert_eq!(error.0[0].code, next, "{line}");
                continue;
            }
        };
        let got: Vec<i64> =
            rule.after(instant).take(5).map(|f| (f.at - instant) / Instant::SECOND).collect();
        assert_eq!(got, numbers(next), "next: {line}");
        let got: Vec<i64> =
            rule.before(instant).take(3).map(|f| (instant - f.at) / Instant::SECOND).collect();
        assert_eq!(got, numbers(prev), "prev: {line}");
        accepted += 1;
    }
    assert!(accepted > 4000, "{accepted}");
}

#[test]
fn every_choice_at_clock_changes_agrees() {
    let text = file("clock_changes.tsv");
    let mut lines = 0;
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [expr, zone, gap, fold, from, to, fires, offsets] = columns[..] else {
            panic!("{line}")
        };
        let clock: ClockChange =
            serde_json::from_value(serde_json::json!({ "gap": gap, "fold": fold })).unwrap();
        let rule = Rule::cron_with(expr, &Zone::named(zone).unwrap(), clock).unwrap();
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let (start, end) = (Instant::from_secs(from), Instant::from_secs(to));
        let found: Vec<_> = rule.between(start, end).collect();
        let got: Vec<i64> = found.iter().map(|f| f.at.floor_secs() - from).collect();
        assert_eq!(got, numbers(fires), "{line}");
        let got: Vec<i64> = found.iter().map(|f| f.nominal.0 - f.at.floor_secs()).collect();
        assert_eq!(got, numbers(offsets), "nominal: {line}");
        let mut back: Vec<_> = rule.before(end).take_while(|f| f.at >= start).collect();
        back.reverse();
        assert_eq!(back, found, "backwards: {line}");
        lines += 1;
    }
    assert!(lines >= 1500, "{lines}");
}
