//! Delays between attempts.

use mainspring::policy::jitter::{hash, splitmix64, spread};
use mainspring::policy::retry::{Backoff, DEFAULT_CAP_MS, Delay, LONGEST_DELAY_MS};
use proptest::prelude::*;

fn exponential(interval_ms: i64, cap_ms: Option<i64>) -> Delay {
    Delay { backoff: Backoff::Exponential, interval_ms, cap_ms, jitter_permille: 0 }
}

fn fixed(interval_ms: i64) -> Delay {
    Delay { backoff: Backoff::Fixed, interval_ms, cap_ms: None, jitter_permille: 0 }
}

#[test]
fn five_thousand_attempts_end_at_the_cap_and_nowhere_else() {
    let delay = exponential(1_000, Some(3_600_000));
    let seconds: Vec<i64> = (1..=5_000).map(|n| delay.after(n) / 1_000).collect();
    let start = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600];
    assert_eq!(seconds[..start.len()], start);
    assert!(seconds[start.len()..].iter().all(|s| *s == 3_600));
    assert_eq!(delay.after(u32::MAX), 3_600_000);
}

#[test]
fn table() {
    let hour = 3_600_000;
    for (delay, n, want) in [
        (fixed(5_000), 1, 5_000),
        (fixed(5_000), 1_000_000, 5_000),
        (fixed(2 * hour), 3, 2 * hour),
        (fixed(-1), 1, 0),
        (fixed(0), 9, 0),
        (fixed(i64::MAX), 1, LONGEST_DELAY_MS),
        (Delay { cap_ms: Some(1), ..fixed(5_000) }, 4, 5_000),
        (exponential(10_000, None), 0, 10_000),
        (exponential(10_000, None), 1, 10_000),
        (exponential(10_000, None), 3, 40_000),
        (exponential(10_000, None), 10, DEFAULT_CAP_MS),
        (exponential(2 * hour, None), 1, 2 * hour),
        (exponential(2 * hour, None), 2, 2 * hour),
        (exponential(2 * hour, Some(hour)), 1, hour),
        (exponential(1_000, Some(-5)), 1, 0),
        (exponential(0, None), 5_000, 0),
        (exponential(i64::MIN, Some(hour)), 64, 0),
        (exponential(i64::MAX, Some(i64::MAX)), u32::MAX, LONGEST_DELAY_MS),
    ] {
        assert_eq!(delay.after(n), want, "{delay:?} after {n}");
    }
}

#[test]
fn the_hash_is_splitmix64() {
    // First outputs of the published generator for the seeds 0 and 1234567.
    assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(splitmix64(1_234_567), 6_457_827_717_110_365_317);
}

#[test]
fn a_thousand_tasks_at_their_cap_do_not_come_back_together() {
    let delay = Delay { jitter_permille: 200, ..exponential(1_000, Some(3_600_000)) };
    let mut delays: Vec<i64> = (0..1_000).map(|run| delay.jittered(50, run, 50)).collect();
    assert!(delays.iter().all(|ms| (2_880_000..=3_600_000).contains(ms)));
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 990, "{} different delays", delays.len());
    let middle = delays[delays.len() / 2];
    assert!((3_200_000..3_280_000).contains(&middle), "evenly spread, not {middle}");
}

fn delays() -> impl Strategy<Value = Delay> {
    let number = prop_oneof![any::<i64>(), -10i64..10, 0i64..10_000_000];
    (any::<bool>(), number.clone(), proptest::option::of(number), 0u32..150).prop_map(
        |(fixed, interval_ms, cap_ms, jitter_permille)| Delay {
            backoff: if fixed { Backoff::Fixed } else { Backoff::Exponential },
            interval_ms,
            cap_ms,
            jitter_permille,
        },
    )
}

proptest! {
    #[test]
    fn never_negative_never_shorter_than_before_never_over_the_cap(
        delay in delays(), n in prop_oneof![0u32..100, any::<u32>()],
    ) {
        let (this, next) = (delay.after(n), delay.after(n.saturating_add(1)));
        prop_assert!(0 <= this && this <= next && next <= LONGEST_DELAY_MS);
        if let (Backoff::Exponential, Some(cap)) = (delay.backoff, delay.cap_ms) {
            prop_assert!(next <= cap.max(0));
        }
    }

    #[test]
    fn jitter_stays_within_its_fraction_and_under_the_cap(
        delay in delays(), n in 0u32..100, run in any::<i64>(), attempt in any::<u32>(),
    ) {
        let (plain, got) = (delay.after(n), delay.jittered(n, run, attempt));
        let swing = plain * i64::from(delay.jitter_permille.min(1000)) / 1000;
        prop_assert!(plain - swing <= got && got <= plain + swing);
        prop_assert!((0..=LONGEST_DELAY_MS).contains(&got));
        if let (Backoff::Exponential, Some(cap)) = (delay.backoff, delay.cap_ms) {
            prop_assert!(got <= cap.max(0));
        }
        prop_assert_eq!(got, delay.jittered(n, run, attempt), "the same every time");
        if delay.jitter_permille == 0 {
            prop_assert_eq!(got, plain);
        }
    }

    #[test]
    fn any_hash_and_any_numbers_spread_without_overflow(
        ms in any::<i64>(), permille in any::<u32>(), most in any::<i64>(), bits in any::<u64>(),
    ) {
        let got = spread(ms, permille, most, bits);
        prop_assert!(0 <= got && got <= most.max(0));
    }

    #[test]
    fn neighbours_hash_far_apart(run in any::<i64>(), attempt in 0u32..u32::MAX) {
        let here = hash(run, attempt);
        prop_assert!((here ^ hash(run, attempt + 1)).count_ones() > 5);
        prop_assert!((here ^ hash(run ^ 1, attempt)).count_ones() > 5);
    }
}
