//! Properties over random schedules: order, both directions, brute force, canonical form.

use std::str::FromStr;

use mainspring::calendar::{ClockChange, Cron, Fire, Fold, Gap, Rule, Wall, Zone};
use mainspring::model::{Date, Instant};
use proptest::prelude::*;
use proptest::sample::select;

/// Zones with every kind of clock change: half hours, midnight, two hours, a lost day, none.
const ZONES: &[&str] = &[
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/Havana",
    "Asia/Amman",
    "Pacific/Apia",
    "America/Nuuk",
    "Asia/Pyongyang",
    "Africa/Casablanca",
];

/// One list of a field: numbers, ranges (also wrapped), steps.
fn field(low: u32, high: u32) -> impl Strategy<Value = String> {
    let number = low..=high;
    let item = prop_oneof![
        4 => number.clone().prop_map(|a| a.to_string()),
        2 => (number.clone(), number.clone()).prop_map(|(a, b)| format!("{a}-{b}")),
        1 => (1..=high).prop_map(|s| format!("*/{s}")),
        1 => (number.clone(), 1..=high).prop_map(|(a, s)| format!("{a}/{s}")),
        1 => (number.clone(), number, 1..=high).prop_map(|(a, b, s)| format!("{a}-{b}/{s}")),
    ];
    let list = prop::collection::vec(item, 1..4).prop_map(|items| items.join(","));
    prop_oneof![1 => Just("*".to_owned()), 2 => list]
}

fn month_day() -> impl Strategy<Value = String> {
    let term = prop_oneof![
        Just("L".to_owned()),
        Just("LW".to_owned()),
        (0..28u32).prop_map(|n| format!("L-{n}")),
        (0..28u32).prop_map(|n| format!("L-{n}W")),
        (1..=31u32).prop_map(|n| format!("{n}W")),
    ];
    let mixed = (field(1, 31), term.clone()).prop_map(|(a, b)| format!("{a},{b}"));
    prop_oneof![3 => field(1, 31), 1 => term, 1 => mixed]
}

fn week_day(low: u32, high: u32) -> impl Strategy<Value = String> {
    let term = prop_oneof![
        (low..=high).prop_map(|n| format!("{n}L")),
        (low..=high, 1..=5u32).prop_map(|(n, k)| format!("{n}#{k}")),
    ];
    prop_oneof![3 => field(low, high), 1 => term]
}

/// Expressions of both dialects, most of which can match.
fn expression() -> impl Strategy<Value = String> {
    let unix = (field(0, 59), field(0, 23), month_day(), field(1, 12), week_day(0, 7))
        .prop_map(|(min, hour, dom, month, dow)| format!("{min} {hour} {dom} {month} {dow}"));
    let days = prop_oneof![
        month_day().prop_map(|dom| (dom, "?".to_owned())),
        week_day(1, 7).prop_map(|dow| ("*".to_owned(), dow)),
    ];
    let year = select(vec!["", " *", " 2024", " 2023-2025", " 2011,2024/3"]);
    let quartz = (field(0, 59), field(0, 59), field(0, 23), days, field(1, 12), year).prop_map(
        |(sec, min, hour, (dom, dow), month, year)| {
            format!("{sec} {min} {hour} {dom} {month} {dow}{year}")
        },
    );
    prop_oneof![unix, quartz]
}

fn clock() -> impl Strategy<Value = ClockChange> {
    let gap = select(vec![Gap::Carry, Gap::Skip, Gap::Shift]);
    let fold = select(vec![Fold::First, Fold::Last, Fold::Both]);
    (gap, fold).prop_map(|(gap, fold)| ClockChange { gap, fold })
}

/// An instant within some hours of a clock change of the zone, or anywhere.
fn near_change(zone: &Zone, seed: u32, hours: i64) -> Instant {
    let anywhere = 1_293_840_000 + i64::from(seed) % 473_385_600; // 2011 to 2025
    let mut at = anywhere;
    let offset = |t: i64| zone.offset(Instant::from_secs(t));
    for day in 0..400 {
        let (a, b) = (anywhere + day * 86_400, anywhere + (day + 1) * 86_400);
        if offset(a) != offset(b) {
            // Halve the day down to the second of the change.
            let (mut low, mut high) = (a, b);
            while high - low > 1 {
                let middle = (low + high) / 2;
                if offset(middle) == offset(a) { low = middle } else { high = middle }
            }
            at = high + i64::from(seed % 7200) * hours - 3600 * hours;
            break;
        }
    }
    Instant::from_secs(at)
}

/// Every fire of a literal reading, found by asking about each second.
fn brute_force(cron: &Cron, zone: &Zone, from: i64, to: i64) -> Vec<i64> {
    (from..to)
        .filter(|second| {
            let wall = zone.wall(Instant::from_secs(*second));
            cron.ceil(wall) == Some(wall)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn goes_strictly_forward_and_finds_its_way_back(
        text in expression(), zone in select(ZONES), clock in clock(), seed in any::<u32>(),
    ) {
        let zone = Zone::named(zone).unwrap();
        let Ok(rule) = Rule::cron_with(&text, &zone, clock) else { return Ok(()) };
        let start = near_change(&zone, seed, 1);
        let fires: Vec<Fire> = rule.after(start).take(20).collect();
        let mut last = start;
        for fire in &fires {
            prop_assert!(fire.at > last);
            last = fire.at;
            prop_assert_eq!(rule.fire_at(fire.at), Some(*fire));
        }
        for pair in fires.windows(2) {
            prop_assert_eq!(rule.prev(pair[1].at), Some(pair[0]));
            // From the middle of two fires both directions give the same two.
            let middle = Instant(pair[0].at.0.midpoint(pair[1].at.0));
            if middle > pair[0].at {
                prop_assert_eq!(rule.prev(middle), Some(pair[0]));
            }
            prop_assert_eq!(rule.next(middle), Some(pair[1]));
        }
    }

    #[test]
    fn misses_and_invents_nothing(
        text in expression(), zone in select(ZONES), seed in any::<u32>(),
    ) {
        let zone = Zone::named(zone).unwrap();
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let clock = ClockChange { gap: Gap::Skip, fold: Fold::Both };
        let rule = Rule::cron_with(&text, &zone, clock).unwrap();
        let from = near_change(&zone, seed, 3).floor_secs();
        let to = from + 3 * 3600;
        let expected = brute_force(&cron, &zone, from, to);
        let found = rule.between(Instant::from_secs(from), Instant::from_secs(to));
        let found: Vec<i64> = found.map(|fire| fire.at.floor_secs()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn daily_schedules_run_once_each_existing_date(
        hour in 0..24u32, minute in 0..60u32, zone in select(ZONES), year in 1975..2100i32,
    ) {
        let zone = Zone::named(zone).unwrap();
        let rule = Rule::cron(&format!("{minute} {hour} * * *"), &zone).unwrap();
        let first = Date::from_ymd(year, 1, 1).unwrap();
        let start = zone.first_instant(Wall::new(first, 0)).plus_micros(-3 * 3600 * 1_000_000);
        let dates: Vec<Date> = rule.after(start).take(380).map(|f| f.nominal.date()).collect();
        for pair in dates.windows(2) {
            let between = (pair[0].0 + 1..pair[1].0).map(Date);
            for skipped in between {
                prop_assert_eq!(zone.day(skipped), None, "{} has no run", skipped);
            }
            prop_assert!(pair[0] < pair[1], "{} has two runs", pair[0]);
        }
    }

    #[test]
    fn canonical_form_means_the_same(text in expression()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let canonical = cron.to_string();
        let again = Cron::parse(&canonical).map_err(|e| TestCaseError::fail(format!("{canonical}: {e}")))?;
        prop_assert!(cron.same_times(&again), "{} became {}", text, canonical);
        prop_assert_eq!(again.to_string(), canonical);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}|[0-9*/,?LW# @A-Z-]{0,40}") {
        if let Err(error) = Cron::parse(&text) {
            prop_assert!(!error.0.is_empty());
        }
        let _ = mainspring::calendar::Template::parse(&text, &[]);
        let _ = mainspring::calendar::Template::parse(&format!("${{{text}}}$[{text}]"), &[]);
        let _ = mainspring::calendar::Step::parse(&text);
        let _ = mainspring::calendar::BizRule::parse(&text, None);
        let _ = Zone::named(&text);
        let _ = Date::parse(&text);
        let _ = Wall::parse(&text);
    }

    /// The crate `cron` agrees in UTC on what both can read; its weekdays are Quartz's.
    #[test]
    fn the_crate_cron_agrees_in_utc(
        sec in plain(0, 59), min in plain(0, 59), hour in plain(0, 23),
        day in plain(1, 31), month in plain(1, 12), week_day in plain(1, 7),
        by_week in any::<bool>(), start in 1_000_000_000..2_000_000_000i64,
    ) {
        let (dom, dow) = if by_week { ("*", week_day.as_str()) } else { (day.as_str(), "*") };
        let text = format!("{sec} {min} {hour} {dom} {month} {dow}");
        let Ok(rule) = Rule::cron(&text, &Zone::utc()) else { return Ok(()) };
        let peer = cron::Schedule::from_str(&text).unwrap();
        let after = chrono::DateTime::from_timestamp(start, 0).unwrap();
        let expected: Vec<i64> = peer.after(&after).take(10).map(|t| t.timestamp()).collect();
        let found: Vec<i64> =
            rule.after(Instant::from_secs(start)).take(10).map(|f| f.at.floor_secs()).collect();
        prop_assert_eq!(found, expected, "{}", text);
    }
}

/// A list that the crate `cron` reads too: ranges forward, steps behind a range or a star.
fn plain(low: u32, high: u32) -> impl Strategy<Value = String> {
    let number = low..=high;
    let item = prop_oneof![
        3 => number.clone().prop_map(|a| a.to_string()),
        2 => (number.clone(), number.clone())
            .prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (number.clone(), number, 1..=high)
            .prop_map(|(a, b, s)| format!("{}-{}/{s}", a.min(b), a.max(b))),
        1 => (1..=high).prop_map(|s| format!("*/{s}")),
    ];
    let list = prop::collection::vec(item, 1..3).prop_map(|items| items.join(","));
    prop_oneof![1 => Just("*".to_owned()), 2 => list]
}
