//! Seeded random input for some seconds: nothing panics, hangs, or answers two questions in two
//! ways.
//!
//! `make fuzz` goes on for a minute; `MAINSPRING_FUZZ_SECONDS=n` for n seconds. A failure names its
//! seed, and `MAINSPRING_SEED=n` tells that one alone.

use std::time::{Duration, Instant as Stopwatch};

use mainspring::calendar::{
    BizRule, BusinessCalendar, Cron, MAX_LENGTH, Rule, Step, Template, Wall, Zone,
};
use mainspring::model::{Date, Instant};

use super::random;
use super::support::file;
use crate::sim::rng::Rng;

/// Far above what anything here takes, and far below what a loop without an end would.
const BOUND: Duration = Duration::from_secs(5);

fn number(name: &str) -> Option<u64> {
    // The environment is read by a test, not by the calendar.
    #[allow(clippy::disallowed_methods)]
    std::env::var(name).ok()?.parse().ok()
}

fn clock() -> Stopwatch {
    #[allow(clippy::disallowed_methods)]
    Stopwatch::now()
}

#[test]
fn random_input_finds_nothing() {
    let lines = file("crons.tsv");
    let mut real: Vec<&str> = lines.lines().skip(1).filter_map(|l| l.split('\t').next()).collect();
    real.extend(["every 90m", "1M", "${yesterday:yyyyMMdd}", "$[add_months(yyyyMMdd,-1)]"]);
    real.extend(["America/New_York", "2024-02-29T02:30:00", "-1 workday", "0 0 18 LW * ?"]);
    real.push("BEGIN:VEVENT\nDTSTART;VALUE=DATE:20240305\nRRULE:FREQ=YEARLY\nEND:VEVENT");

    let begun = clock();
    let span = Duration::from_secs(number("MAINSPRING_FUZZ_SECONDS").unwrap_or(4));
    let only = number("MAINSPRING_SEED");
    let mut seed = only.unwrap_or(0);
    while only.is_none_or(|only| seed == only) && begun.elapsed() < span {
        let rng = &mut Rng(seed);
        let started = clock();
        let text = if rng.chance(500) {
            let text = random::expression(rng);
            if rng.chance(300) { random::mutated(rng, &[&text]) } else { text }
        } else {
            random::mutated(rng, &real)
        };
        read(&text);
        if rng.chance(50) {
            let _ = Zone::named(&text); // slow where it looks for the nearest name
        }
        if let Ok(cron) = Cron::parse(&text) {
            means_the_same(seed, &cron);
            goes_both_ways(seed, &text, rng);
        }
        let took = started.elapsed();
        assert!(took < BOUND, "MAINSPRING_SEED={seed}: {took:?} for {text:?}");
        seed += 1;
    }
    println!("{seed} inputs");
}

/// Every parser, whatever the text is.
fn read(text: &str) {
    if let Err(error) = Cron::parse(text) {
        assert!(!error.0.is_empty(), "{text:?} is refused without a reason");
    }
    let _ = Template::parse(text, &[]);
    let _ = Step::parse(text);
    let _ = BizRule::parse(text, None);
    let _ = Date::parse(text);
    let _ = Wall::parse(text);
    let _ = BusinessCalendar::from_ics("fuzz", text);
}

fn means_the_same(seed: u64, cron: &Cron) {
    let canonical = cron.to_string();
    let again = Cron::parse(&canonical);
    let again = again.unwrap_or_else(|e| panic!("MAINSPRING_SEED={seed}: {canonical}: {e}"));
    assert!(cron.same_times(&again), "MAINSPRING_SEED={seed}: {cron:?} became {canonical}");
    assert_eq!(again.to_string(), canonical, "MAINSPRING_SEED={seed}");
}

fn goes_both_ways(seed: u64, text: &str, rng: &mut Rng) {
    let zone = Zone::named(rng.pick::<&str>(random::ZONES)).unwrap();
    let clock = random::clock(rng);
    let rule = Rule::cron_with(text, &zone, clock).unwrap();
    let start = Instant::from_secs(random::second(rng, |at| zone.offset(Instant::from_secs(at))));
    let case = format!("MAINSPRING_SEED={seed}: `{text}` {zone} {clock:?} {start:?}");
    let fires: Vec<_> = rule.after(start).take(8).collect();
    let mut last = start;
    for fire in &fires {
        assert!(fire.at > last, "{case}: {:?} does not come after {last:?}", fire.at);
        assert_eq!(rule.next(fire.at.plus_micros(-1)), Some(*fire), "{case}");
        assert_eq!(rule.prev(fire.at.plus_micros(1)), Some(*fire), "{case}");
        last = fire.at;
    }
    for pair in fires.windows(2) {
        assert_eq!(rule.prev(pair[1].at), Some(pair[0]), "{case}");
    }
    let back: Vec<_> = rule.before(start).take(4).collect();
    for pair in back.windows(2) {
        assert!(pair[1].at < pair[0].at, "{case}");
        assert_eq!(rule.next(pair[1].at), Some(pair[0]), "{case}");
    }
}

/// Median time of some calls, so that other work of the machine does not count.
fn median(mut call: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let began = clock();
            call();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[10]
}

#[test]
fn what_cannot_fire_or_is_too_long_is_refused_at_once() {
    let never = [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "0 0 0 31 11 ? *",
        "0 0 0 29 2 ? 2025-2027",
        "0 0 0 29 2 ? 2100",
        "0 0 0 L-30 2 ?",
        "0 0 0 31W 6 ?",
        "* * * 31 2,4,6,9,11 ? 1970-2199",
    ];
    for text in never {
        assert_eq!(Cron::parse(text).unwrap_err().0[0].code, "never", "{text}");
        let took = median(|| drop(Cron::parse(text)));
        assert!(took < Duration::from_millis(1), "{took:?} to refuse {text}");
    }
    let long = [
        "1,".repeat(100_000) + "1 * * * *",
        "*".repeat(1_000_000),
        " ".repeat(1_000_000),
        "@".repeat(1_000_000),
        "1-".repeat(500_000),
        "é".repeat(500_000),
        "0 ".repeat(MAX_LENGTH),
    ];
    for text in long {
        let refused = Cron::parse(&text).unwrap_err();
        assert_eq!(refused.0[0].code, "too_long");
        assert!(refused.to_string().len() < 300, "the text is not repeated");
        let took = median(|| drop(Cron::parse(&text)));
        assert!(took < Duration::from_millis(1), "{took:?} to refuse {} bytes", text.len());
    }
    // The longest that is looked at.
    let list = format!("{}1 * * * *", "1,".repeat(MAX_LENGTH / 2 - 5));
    assert!(list.len() <= MAX_LENGTH);
    let took = median(|| drop(Cron::parse(&list)));
    assert!(took < Duration::from_millis(20), "{took:?}");
}
