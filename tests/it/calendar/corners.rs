//! Corners of clock changes that random schedules seldom hit: sparse lines, lost dates.

use mainspring::calendar::{ClockChange, Fold, Gap, Rule, Zone};
use mainspring::model::Instant;

use super::support::{instant, local};

fn rule(text: &str, zone: &str, gap: Gap, fold: Fold) -> Rule {
    let zone = Zone::named(zone).unwrap();
    Rule::cron_with(text, &zone, ClockChange { gap, fold }).unwrap()
}

fn shown(rule: &Rule, at: Option<Instant>) -> Option<String> {
    at.map(|at| local(at, rule.zone()))
}

#[test]
fn a_sparse_schedule_is_found_from_within_the_fold() {
    // 3 November 2024: 01:00 to 02:00 comes twice. From the second 01:10 the 01:30 lies both
    // before (shown first) and after (shown again).
    let within = instant("2024-11-03T01:10:00-05:00");
    for text in ["0 30 1 3 11 ? 2024", "0 30 1 3 11 ?"] {
        let first = rule(text, "America/New_York", Gap::Carry, Fold::First);
        let before = shown(&first, first.prev(within).map(|fire| fire.at));
        assert_eq!(before.as_deref(), Some("2024-11-03T01:30:00-04:00"), "{text}");
        let last = rule(text, "America/New_York", Gap::Carry, Fold::Last);
        let within = instant("2024-11-03T01:40:00-04:00");
        let after = shown(&last, last.next(within).map(|fire| fire.at));
        assert_eq!(after.as_deref(), Some("2024-11-03T01:30:00-05:00"), "{text}");
    }
}

#[test]
fn a_lost_date_has_no_run_in_any_way() {
    for gap in [Gap::Carry, Gap::Skip, Gap::Shift] {
        let rule = rule("0 0 12 30 12 ?", "Pacific/Apia", gap, Fold::First);
        let around = |text| instant(text);
        let next = rule.next(around("2011-12-29T00:00:00-10:00")).map(|fire| fire.at);
        assert_eq!(shown(&rule, next).as_deref(), Some("2012-12-30T12:00:00+14:00"), "{gap:?}");
        let prev = rule.prev(around("2012-01-02T00:00:00+14:00")).map(|fire| fire.at);
        assert_eq!(shown(&rule, prev).as_deref(), Some("2010-12-30T12:00:00-10:00"), "{gap:?}");
    }
    let zone = Zone::named("Pacific/Apia").unwrap();
    let anchor = instant("2011-12-28T12:00:00-10:00");
    let daily = Rule::every("1d", anchor, &zone).unwrap();
    let days: Vec<_> = daily.after(anchor).take(3).map(|f| f.nominal.date().to_string()).collect();
    assert_eq!(days, ["2011-12-29", "2011-12-31", "2012-01-01"]);
}

#[test]
fn the_rarest_schedules_are_found() {
    let utc = Zone::utc();
    let start = instant("2024-02-29T00:00:00+00:00");
    for (text, expected) in [
        ("0 0 0 29 2 ?", "2028-02-29T00:00:00+00:00"),
        ("0 0 0 ? 2 SUN#5", "2032-02-29T00:00:00+00:00"),
        ("0 0 0 LW 12 ? 2199", "2199-12-31T00:00:00+00:00"),
        ("59 59 23 31 12 ? 2199", "2199-12-31T23:59:59+00:00"),
    ] {
        let rule = Rule::cron(text, &utc).unwrap();
        let next = rule.next(start).map(|fire| fire.at);
        assert_eq!(shown(&rule, next).as_deref(), Some(expected), "{text}");
    }
    // 2100 is no leap year: eight years pass.
    let leap = Rule::cron("0 0 29 2 *", &utc).unwrap();
    let next = leap.next(instant("2096-02-29T00:00:00+00:00")).map(|fire| fire.at);
    assert_eq!(shown(&leap, next).as_deref(), Some("2104-02-29T00:00:00+00:00"));
}

#[test]
fn every_year_is_found_up_to_the_last() {
    for zone in ["UTC", "Etc/GMT-14", "Asia/Kolkata", "America/New_York", "Africa/Casablanca"] {
        let rule = rule("0 0 1 1 *", zone, Gap::Carry, Fold::First);
        let years = rule.after(instant("1969-06-01T00:00:00+00:00")).count();
        assert_eq!(years, 230, "{zone}: 1970 to 2199");
        assert_eq!(rule.before(Instant(i64::MAX)).count(), 230, "{zone}");
    }
}
