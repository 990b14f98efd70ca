//! Speed of the calendar beside two cron crates, in one run on one machine.
//!
//! `cargo bench --no-default-features --bench calendar`. Ratios above 1 say how many times faster
//! we are. The peers speak less of the language, so each line names expressions that all can read;
//! where they read another meaning (Quartz weekdays, folds) the work is alike enough to compare.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::str::FromStr;
use std::time::Instant as Stopwatch;

use mainspring::calendar::{Cron, Rule, Zone};
use mainspring::model::Instant;

const START: i64 = 1_704_067_200; // 2024-01-01T00:00:00Z
const STEPS: usize = 20_000;

/// Expressions as six fields, seconds first.
const LINES: &[(&str, &str)] = &[
    ("every minute", "0 * * * * *"),
    ("every 5 minutes", "0 */5 * * * *"),
    ("every 15 minutes", "0 */15 * * * *"),
    ("twice an hour", "0 7,37 * * * *"),
    ("every 30 seconds", "*/30 * * * * *"),
    ("hourly", "0 0 * * * *"),
    ("every 2 hours", "0 30 */2 * * *"),
    ("every 6 hours", "0 0 */6 * * *"),
    ("office hours", "0 15 9-17 * * *"),
    ("office minutes", "0 */10 8-18 * * MON-FRI"),
    ("daily", "0 30 2 * * *"),
    ("daily in a fold", "0 30 1 * * *"),
    ("midnight", "0 0 0 * * *"),
    ("weekdays", "0 30 8 * * MON-FRI"),
    ("weekly", "0 0 6 * * SUN"),
    ("monthly", "0 0 4 1 * *"),
    ("twice a month", "0 0 4 1,15 * *"),
    ("quarterly", "0 0 3 1 1,4,7,10 *"),
    ("the 31st", "0 0 0 31 * *"),
    ("29 February", "0 0 0 29 2 *"),
];

fn main() {
    let zones = ["UTC", "America/New_York"];
    println!("next, nanoseconds a call (median of 5); chain: each answer is the next question");
    println!(
        "{:<18} {:<18} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "expression", "zone", "ours", "cron", "croner", "ours:cron", "ours:croner"
    );
    for (name, text) in LINES {
        for zone in zones {
            let ours = ours(text, zone);
            let cron = cron_crate(text, zone);
            let croner = croner_crate(text, zone);
            println!(
                "{name:<18} {zone:<18} {ours:>8.0} {cron:>8.0} {croner:>8.0} {:>9.1}x {:>9.1}x",
                cron / ours,
                croner / ours
            );
        }
    }
    println!("\nlines that seldom fire, beside a daily one (wanted: <= 3 x)");
    for zone in zones {
        let daily = ours("0 30 2 * * *", zone);
        for text in ["0 0 0 29 2 *", "0 0 18 LW 12 ?"] {
            let nanos = ours(text, zone);
            println!("{text:<18} {zone:<18} {nanos:>8.0} {:>6.2} x daily", nanos / daily);
        }
    }
    println!("\nprev, nanoseconds a call");
    for (name, text) in LINES {
        let zone = Zone::named("America/New_York").unwrap();
        let rule = Rule::cron(text, &zone).unwrap();
        let mut at = Instant::from_secs(START);
        let nanos = time(STEPS, || match rule.prev(at) {
            Some(fire) => at = fire.at,
            None => at = Instant::from_secs(START),
        });
        println!("{name:<18} {:<18} {nanos:>8.0}", zone.name());
    }
    println!("\nparse, nanoseconds a call");
    for (name, text) in LINES {
        let nanos = time(2_000, || {
            black_box(Cron::parse(black_box(text)).unwrap());
        });
        let peer = time(2_000, || {
            black_box(cron::Schedule::from_str(black_box(text)).unwrap());
        });
        println!("{name:<18} ours {nanos:>8.0} cron {peer:>8.0}");
    }
}

fn ours(text: &str, zone: &str) -> f64 {
    let rule = Rule::cron(text, &Zone::named(zone).unwrap()).unwrap();
    let mut at = Instant::from_secs(START);
    time(STEPS, || match rule.next(at) {
        Some(fire) => at = fire.at,
        None => at = Instant::from_secs(START),
    })
}

fn cron_crate(text: &str, zone: &str) -> f64 {
    let schedule = cron::Schedule::from_str(text).unwrap();
    let zone: chrono_tz::Tz = zone.parse().unwrap();
    let start = chrono::DateTime::from_timestamp(START, 0).unwrap().with_timezone(&zone);
    let mut at = start;
    // It gives up in the year 2100 and, in a fold, may answer with the past; start again then.
    time(STEPS / 10, || match schedule.after(&at).next() {
        Some(next) if next > at => at = next,
        _ => at = start,
    })
}

fn croner_crate(text: &str, zone: &str) -> f64 {
    let schedule = croner::parser::CronParser::builder()
        .seconds(croner::parser::Seconds::Optional)
        .build()
        .parse(text)
        .unwrap();
    let zone: chrono_tz::Tz = zone.parse().unwrap();
    let start = chrono::DateTime::from_timestamp(START, 0).unwrap().with_timezone(&zone);
    let mut at = start;
    time(STEPS / 100, || match schedule.find_next_occurrence(&at, false) {
        Ok(next) if next > at => at = next,
        _ => at = start,
    })
}

/// Median over five runs of the time of one call.
fn time(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut runs: Vec<f64> = (0..5)
        .map(|_| {
            let watch = Stopwatch::now();
            for _ in 0..calls {
                call();
            }
            watch.elapsed().as_nanos() as f64 / calls as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[2]
}
