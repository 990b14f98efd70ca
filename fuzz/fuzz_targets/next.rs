//! Fires go strictly forward, and each finds its way back, in any zone and at any instant.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainspring::calendar::{ClockChange, Fold, Gap, Rule, Zone};
use mainspring::model::Instant;

const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/Havana",
    "Pacific/Apia",
    "Africa/Casablanca",
    "America/Nuuk",
];

fuzz_target!(|input: (u8, u8, u8, i64, &str)| {
    let (zone, gap, fold, at, text) = input;
    let zone = Zone::named(ZONES[usize::from(zone) % ZONES.len()]).expect("a zone");
    let clock = ClockChange {
        gap: [Gap::Carry, Gap::Skip, Gap::Shift][usize::from(gap) % 3],
        fold: [Fold::First, Fold::Last, Fold::Both][usize::from(fold) % 3],
    };
    let Ok(rule) = Rule::cron_with(text, &zone, clock) else { return };
    let mut last = Instant(at);
    for fire in rule.after(Instant(at)).take(16) {
        assert!(fire.at > last, "{text:?}: {:?} after {last:?}", fire.at);
        assert_eq!(rule.prev(fire.at.plus_micros(1)), Some(fire), "{text:?}");
        assert_eq!(rule.next(fire.at.plus_micros(-1)), Some(fire), "{text:?}");
        last = fire.at;
    }
});
