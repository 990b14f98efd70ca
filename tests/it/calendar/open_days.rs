//! Fires on closed days, against a walk over all days.

use std::sync::Arc;

use mainspring::calendar::{BusinessCalendar, Entry, Fire, Open, Rule, Zone};
use mainspring::model::{Date, Instant, OnClosed};
use proptest::prelude::*;

const DAY: i64 = 86_400;

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}

/// What the rules say, by looking at every day of a range: its own fires, or that of the nearest
/// closed day that is rolled to it.
fn by_walking(entry: &Entry, from: Date, days: i32) -> Vec<Instant> {
    let open = entry.open.as_ref().unwrap();
    let margin = 40;
    let dates = || (-margin..days + margin).map(|day| from.plus_days(day));
    let raw: Vec<Fire> = {
        let start = Instant::from_secs(i64::from(from.plus_days(-margin - 2).0) * DAY);
        let end = Instant::from_secs(i64::from(from.plus_days(days + margin + 2).0) * DAY);
        entry.rule.between(start, end).collect()
    };
    let on = |day: Date| raw.iter().filter(move |fire| fire.nominal.date() == day);
    let mut fires = Vec::new();
    for day in dates().filter(|day| open.calendar.is_open(*day)) {
        if on(day).next().is_some() {
            fires.extend(on(day).map(|fire| fire.at));
            continue;
        }
        // The closed days next to it on the side that rolls to it, the nearest first.
        let step = match open.on {
            OnClosed::Skip => continue,
            OnClosed::Next => -1,
            OnClosed::Previous => 1,
        };
        let mut other = day.plus_days(step);
        while !open.calendar.is_open(other) && (other.0 - day.0).abs() <= margin {
            if let Some(fire) = on(other).next() {
                let second = fire.nominal.second_of_day();
                // The zones here have no change at the times of these rules.
                let shift = fire.at.0 - fire.nominal.0 * Instant::SECOND;
                fires.push(Instant((i64::from(day.0) * DAY + second) * Instant::SECOND + shift));
                break;
            }
            other = other.plus_days(step);
        }
    }
    fires.sort_unstable();
    fires
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn rolled_fires_are_those_of_a_walk_over_all_days(
        weekdays in proptest::collection::btree_set(0u32..7, 1..7),
        closed in proptest::collection::vec(0i32..120, 0..30),
        extra in proptest::collection::vec(0i32..120, 0..6),
        expression in prop_oneof![
            Just("0 2 * * *"), Just("0 2 * * 1"), Just("30 4,16 * * *"), Just("0 0 1,15 * *"),
            Just("15 3 L * *"), Just("0 9 */3 * *"), Just("0 1 * * 6,0"),
        ],
        on in prop_oneof![
            Just(OnClosed::Skip), Just(OnClosed::Next), Just(OnClosed::Previous)
        ],
        tokyo in any::<bool>(),
    ) {
        let zone = zone(if tokyo { "Asia/Tokyo" } else { "UTC" });
        let first = date("2024-03-01");
        let weekdays: Vec<u32> = weekdays.into_iter().collect();
        let days = |days: &[i32]| days.iter().map(|day| first.plus_days(*day)).collect::<Vec<_>>();
        let calendar = BusinessCalendar::weekdays("c", &weekdays)
            .exclude(&days(&closed)).unwrap().include(&days(&extra)).unwrap();
        let open = Some(Open { calendar: Arc::new(calendar), on });
        let rule = Rule::cron(expression, &zone).unwrap();
        let entry = Entry { open, ..Entry::always(rule) };

        let from = Instant::from_secs(i64::from(first.0) * DAY);
        let to = Instant::from_secs(i64::from(first.plus_days(100).0) * DAY);
        let inside = |at: &Instant| from < *at && *at < to;
        let expected: Vec<Instant> =
            by_walking(&entry, first, 100).into_iter().filter(inside).collect();
        let next = std::iter::successors(entry.next(from), |fire| entry.next(fire.at));
        let found: Vec<Instant> = next.map(|fire| fire.at).take_while(|at| *at < to).collect();
        prop_assert_eq!(&found, &expected);
        let back = std::iter::successors(entry.prev(to), |fire| entry.prev(fire.at));
        let mut back: Vec<Instant> = back.map(|fire| fire.at).take_while(|at| *at > from).collect();
        back.reverse();
        prop_assert_eq!(&back, &expected);
    }

    #[test]
    fn a_calendar_is_what_its_definition_says(
        weekdays in proptest::collection::btree_set(0u32..7, 0..8),
        flips in proptest::collection::vec(0i32..84_006, 0..200),
    ) {
        let weekdays: Vec<u32> = weekdays.into_iter().collect();
        let mut calendar = BusinessCalendar::weekdays("c", &weekdays);
        for day in flips.into_iter().map(Date) {
            calendar = match calendar.is_open(day) {
                true => calendar.exclude(&[day]).unwrap(),
                false => calendar.include(&[day]).unwrap(),
            };
        }
        prop_assert_eq!(BusinessCalendar::of(&calendar.def()), calendar);
    }
}

#[test]
fn a_run_that_falls_on_a_holiday_is_rolled_once() {
    // The 1st of June 2024 is a Saturday; the 3rd is the next Monday, 31 May the Friday before.
    let office = BusinessCalendar::weekdays("office", &[0, 1, 2, 3, 4]);
    let entry = |on| {
        let rule = Rule::cron("0 9 1 * *", &zone("Europe/Berlin")).unwrap();
        Entry { open: Some(Open { calendar: Arc::new(office.clone()), on }), ..Entry::always(rule) }
    };
    let after = Instant::from_secs(1_714_600_000); // 2024-05-01T21:46:40Z
    let shown = |on| entry(on).next(after).unwrap().at.to_string();
    assert_eq!(shown(OnClosed::Next), "2024-06-03T07:00:00Z");
    assert_eq!(shown(OnClosed::Previous), "2024-05-31T07:00:00Z");
    assert_eq!(shown(OnClosed::Skip), "2024-07-01T07:00:00Z");
}

#[test]
fn a_calendar_without_days_never_fires_and_does_not_search_for_ever() {
    let rule = Rule::cron("* * * * * ?", &zone("UTC")).unwrap();
    let calendar = Arc::new(BusinessCalendar::empty("none"));
    for on in [OnClosed::Skip, OnClosed::Next, OnClosed::Previous] {
        let open = Some(Open { calendar: Arc::clone(&calendar), on });
        let entry = Entry { open, ..Entry::always(rule.clone()) };
        assert_eq!(entry.next(Instant(0)), None, "{on}");
        assert_eq!(entry.prev(Instant::from_secs(2_000_000_000)), None, "{on}");
    }
}
