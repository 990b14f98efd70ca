//! The evaluator beside others, at scale: a slow one on random expressions of the whole language,
//! and the crate `cron` on those that both read.
//!
//! `make agree` asks about 100,000 expressions; `MAINSPRING_EXPRESSIONS=n` about n of them.

use std::str::FromStr;

use chrono_tz::Tz;
use mainspring::calendar::{ClockChange, Cron, Fire, Rule, Zone};
use mainspring::model::Instant;

use super::random;
use super::slow::Slow;
use super::support::file;
use crate::sim::rng::Rng;

const YEAR_2026: i64 = 1_767_225_600;

fn expressions() -> u64 {
    // The environment is read by a test, not by the calendar.
    #[allow(clippy::disallowed_methods)]
    let set = std::env::var("MAINSPRING_EXPRESSIONS").ok();
    set.and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

fn pairs(fires: impl Iterator<Item = Fire>) -> Vec<(i64, i64)> {
    fires.map(|fire| (fire.at.floor_secs(), fire.nominal.0)).collect()
}

/// The slow evaluator gives the answers that were computed in another language.
#[test]
fn the_slow_evaluator_is_right() {
    let text = file("random.tsv");
    let mut asked = 0;
    for line in text.lines().skip(1).step_by(10) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [expr, zone, second, next, prev] = columns[..] else { panic!("{line}") };
        if !random::ZONES.contains(&zone) || !next.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let (zone, second): (Tz, i64) = (zone.parse().unwrap(), second.parse().unwrap());
        let slow = Slow::read(expr);
        let shown = |fires: Vec<(i64, i64)>| {
            let distances: Vec<String> =
                fires.iter().map(|(at, _)| (at - second).abs().to_string()).collect();
            distances.join(",")
        };
        assert_eq!(shown(slow.next(zone, ClockChange::default(), second, 5)), next, "{line}");
        assert_eq!(shown(slow.prev(zone, ClockChange::default(), second, 3)), prev, "{line}");
        asked += 1;
    }
    assert!(asked > 150, "{asked}");

    let text = file("clock_changes.tsv");
    let mut asked = 0;
    for line in text.lines().skip(1).step_by(3) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [expr, zone, gap, fold, from, to, fires, offsets] = columns[..] else {
            panic!("{line}")
        };
        if !random::ZONES.contains(&zone) {
            continue;
        }
        let clock: ClockChange =
            serde_json::from_value(serde_json::json!({ "gap": gap, "fold": fold })).unwrap();
        let (from, to): (i64, i64) = (from.parse().unwrap(), to.parse().unwrap());
        let numbers = |text: &str| -> Vec<i64> {
            text.split(',').filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect()
        };
        let expected: Vec<(i64, i64)> = numbers(fires)
            .iter()
            .zip(numbers(offsets))
            .map(|(at, offset)| (from + at, from + at + offset))
            .collect();
        let many = expected.len() + 1;
        let mut got = Slow::read(expr).next(zone.parse().unwrap(), clock, from - 1, many);
        got.retain(|(at, _)| *at < to);
        assert_eq!(got, expected, "{line}");
        asked += 1;
    }
    assert!(asked > 150, "{asked}");
}

#[test]
fn random_expressions_agree_with_the_slow_evaluator() {
    let (count, mut refused) = (expressions(), 0);
    for seed in 0..count {
        if seed % 10_000 == 9_999 {
            println!("{} expressions agree", seed + 1);
        }
        let rng = &mut Rng(seed);
        let text = random::expression(rng);
        let name = *rng.pick(random::ZONES);
        let (zone, peer_zone): (Zone, Tz) = (Zone::named(name).unwrap(), name.parse().unwrap());
        let clock = random::clock(rng);
        let second = random::second(rng, |at| zone.offset(Instant::from_secs(at)));
        let slow = Slow::read(&text);
        let case = format!("seed {seed}: `{text}` {name} {clock:?} {second}");
        let rule = match Rule::cron_with(&text, &zone, clock) {
            Ok(rule) => rule,
            Err(error) => {
                assert_eq!(error.0[0].code, "never", "{case}: {error}");
                assert!(!slow.can_fire(), "{case} can fire");
                refused += 1;
                continue;
            }
        };
        let at = Instant::from_secs(second);
        // Cuba has a new rule for winters from 2026 on, which not every release knows.
        let same = |pair: &(i64, i64)| name != "America/Havana" || pair.0 < YEAR_2026;
        let mut next = slow.next(peer_zone, clock, second, 3);
        let mut found = pairs(rule.after(at).take(3));
        next.retain(same);
        found.retain(same);
        assert_eq!(found, next, "next, {case}");
        let prev = slow.prev(peer_zone, clock, second, 2);
        assert_eq!(pairs(rule.before(at).take(2)), prev, "prev, {case}");
    }
    println!("{count} expressions, {refused} of them never fire");
    assert!(refused * 10 < count, "{refused} of {count} never fire");
}

/// In UTC, where it is right. It gives up in the year 2100.
#[test]
fn a_million_fires_agree_with_the_crate_cron() {
    const END: i64 = 4_102_444_800; // 2100-01-01T00:00:00Z
    let (mut seed, mut asked) = (0, 0);
    while asked < 1_000_000 {
        seed += 1;
        let rng = &mut Rng(seed);
        let text = random::plain(rng);
        if Cron::parse(&text).is_err() {
            continue; // such as 31 February
        }
        let rule = Rule::cron(&text, &Zone::utc()).unwrap();
        let peer = cron::Schedule::from_str(&text).unwrap();
        let start = 1_000_000_000 + rng.below(1_000_000_000) as i64;
        let after = chrono::DateTime::from_timestamp(start, 0).unwrap();
        let theirs = peer.after(&after).map(|at| at.timestamp()).take_while(|at| *at < END);
        let ours = rule.after(Instant::from_secs(start)).map(|fire| fire.at.floor_secs());
        let ours: Vec<i64> = ours.take_while(|at| *at < END).take(200).collect();
        assert_eq!(ours, theirs.take(200).collect::<Vec<_>>(), "seed {seed}: `{text}` {start}");
        asked += ours.len();
    }
}
