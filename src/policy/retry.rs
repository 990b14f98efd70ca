//! How long to wait before the next attempt.

use crate::model::Backoff;

/// Delay after the `n`-th failed attempt (from 1). Clamped before anything is multiplied, so a
/// task with thousands of attempts neither overflows nor waits longer than the cap.
pub fn delay_ms(backoff: Backoff, interval_ms: i64, cap_ms: i64, n: u32) -> i64 {
    let cap = cap_ms.max(0);
    let interval = interval_ms.clamp(0, cap);
    match backoff {
        Backoff::Fixed => interval,
        Backoff::Exponential => {
            // From 2^62 on any interval is past any cap.
            let doublings = n.saturating_sub(1).min(62);
            interval.saturating_mul(1 << doublings).min(cap)
        }
    }
}

/// The delay spread downwards by up to `permille` thousandths of itself. The part is taken from a
/// hash of what is retried and not from chance, so that the same history has the same delays.
pub fn spread_ms(delay_ms: i64, permille: u32, task_run: i64, attempt_no: u32) -> i64 {
    let part = i128::from(delay_ms.max(0)) * i128::from(permille.min(1000)) / 1000;
    let hash = mix(mix(task_run as u64) ^ u64::from(attempt_no));
    let cut = (part * i128::from(hash >> 1)) >> 63;
    delay_ms - cut as i64
}

/// The finaliser of splitmix64: each bit of the result depends on each bit of the argument.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_cap_and_never_overflows() {
        let delay = |n| delay_ms(Backoff::Exponential, 1_000, 3_600_000, n);
        assert_eq!([delay(0), delay(1), delay(2), delay(12)], [1_000, 1_000, 2_000, 2_048_000]);
        assert_eq!([delay(13), delay(5_000), delay(u32::MAX)], [3_600_000; 3]);
        assert_eq!(delay_ms(Backoff::Exponential, i64::MAX, i64::MAX, u32::MAX), i64::MAX);
        assert_eq!(delay_ms(Backoff::Fixed, 5_000, 3_600_000, 9), 5_000);
        assert_eq!(delay_ms(Backoff::Fixed, -5, -1, 9), 0);
    }

    #[test]
    fn the_spread_stays_below_the_delay_and_repeats() {
        for attempt in 0..1000 {
            let spread = spread_ms(10_000, 200, 7, attempt);
            assert!((8_000..=10_000).contains(&spread), "{spread}");
            assert_eq!(spread, spread_ms(10_000, 200, 7, attempt));
        }
        assert_eq!(spread_ms(10_000, 0, 7, 1), 10_000);
        assert!(spread_ms(i64::MAX, 5_000, i64::MIN, u32::MAX) >= 0);
    }
}
