//! Budgets and filters of the retry decision.

use mainspring::policy::retry::{
    Backoff, Delay, Ended, MAX_LOSSES, MAX_PREEMPTIONS, Retry, Used, Verdict, Why, may_preempt,
};
use proptest::prelude::*;

const RETRY: Retry<'static> = Retry {
    max_attempts: 4,
    max_losses: MAX_LOSSES,
    retry_on: None,
    idempotent: true,
    delay: Delay {
        backoff: Backoff::Exponential,
        interval_ms: 10_000,
        cap_ms: None,
        jitter_permille: 0,
    },
};

const RESET: Ended<'static> = Ended::Failed(&["CONN_RESET", "ConnectionResetError", "OSError"]);

fn judge(retry: Retry<'_>, ended: Ended<'_>, failures: u32, losses: u32) -> Verdict {
    retry.judge(ended, Used { failures, losses }, 7, failures + losses)
}

fn on(codes: &'static [&'static str]) -> Retry<'static> {
    // Owned once for the whole test run: the table wants constants.
    let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
    Retry { retry_on: Some(codes.leak()), ..RETRY }
}

#[test]
fn table() {
    use Ended::{Failed, Interrupted, Lost, Preempted, Timeout};
    use Verdict::{Again, Wait};
    let once = Retry { max_attempts: 1, ..RETRY };
    let careful = Retry { idempotent: false, ..RETRY };
    let failed = Verdict::Failed;
    let timeout = Verdict::Timeout;
    for (retry, ended, failures, losses, want) in [
        // Failures and timeouts share one budget, and each failure doubles the delay.
        (RETRY, RESET, 1, 0, Wait(10_000)),
        (RETRY, Timeout, 2, 0, Wait(20_000)),
        (RETRY, RESET, 3, 3, Wait(40_000)),
        (RETRY, RESET, 4, 0, failed(Why::Attempts)),
        (RETRY, Timeout, 4, 0, timeout(Why::Attempts)),
        (once, RESET, 1, 0, failed(Why::Attempts)),
        (Retry { max_attempts: 0, ..RETRY }, RESET, 1, 0, failed(Why::Attempts)),
        (RETRY, Failed(&[]), 1, 0, Wait(10_000)),
        // Losses have a budget and a delay of their own, whatever the filter says: none after the
        // first, then as after failures.
        (RETRY, Lost, 0, 1, Wait(0)),
        (RETRY, Lost, 3, 2, Wait(10_000)),
        (RETRY, Lost, 0, 3, failed(Why::Losses)),
        (once, Lost, 0, 2, Wait(10_000)),
        (on(&[]), Lost, 0, 2, Wait(10_000)),
        (on(&["TIMEOUT"]), Lost, 0, 3, failed(Why::Losses)),
        (Retry { max_losses: 0, ..RETRY }, Lost, 0, 1, failed(Why::Losses)),
        // Being asked to stop costs nothing.
        (once, Interrupted, 4, 3, Again),
        (once, Preempted, 4, 3, Again),
        (on(&[]), Interrupted, 0, 0, Again),
        // The filter.
        (on(&["TIMEOUT"]), Timeout, 1, 0, Wait(10_000)),
        (on(&["TIMEOUT"]), RESET, 1, 0, failed(Why::RetryOn)),
        (on(&["CONN_RESET"]), Timeout, 1, 0, timeout(Why::RetryOn)),
        (on(&["CONN_RESET"]), RESET, 1, 0, Wait(10_000)),
        (on(&["X", "OSError"]), RESET, 1, 0, Wait(10_000)),
        (on(&["conn_reset"]), RESET, 1, 0, failed(Why::RetryOn)),
        (on(&["ERROR"]), RESET, 1, 0, Wait(10_000)),
        (on(&["ERROR"]), Failed(&[]), 1, 0, Wait(10_000)),
        (on(&["ERROR"]), RESET, 4, 0, failed(Why::Attempts)),
        (on(&["ERROR"]), Timeout, 1, 0, timeout(Why::RetryOn)),
        (on(&["ERROR", "TIMEOUT"]), Timeout, 1, 0, Wait(10_000)),
        (on(&[]), RESET, 1, 0, failed(Why::RetryOn)),
        (on(&[]), Timeout, 1, 0, timeout(Why::RetryOn)),
        // A result that cannot be stored will not be better next time.
        (RETRY, Failed(&["RESULT"]), 1, 0, failed(Why::Result)),
        (RETRY, Failed(&["RENDER", "RenderError"]), 1, 0, failed(Why::Render)),
        (on(&["SECRET"]), Failed(&["SECRET"]), 1, 0, failed(Why::Render)),
        // The code decides, and not a class of that name.
        (RETRY, Failed(&["ValueError", "RENDER"]), 1, 0, Wait(10_000)),
        (on(&["RESULT", "ERROR"]), Failed(&["RESULT"]), 1, 0, failed(Why::Result)),
        // Half-done and not repeatable: somebody has to look.
        (careful, Lost, 0, 1, failed(Why::NotIdempotent)),
        (careful, Interrupted, 0, 0, failed(Why::NotIdempotent)),
        (careful, Preempted, 0, 0, failed(Why::NotIdempotent)),
        // With more attempts than one it has a key against doubles, and a failure is whole.
        (careful, RESET, 1, 0, Wait(10_000)),
        (careful, Timeout, 1, 0, Wait(10_000)),
    ] {
        let got = judge(retry, ended, failures, losses);
        assert_eq!(got, want, "{ended:?}, {failures} failures, {losses} losses, {retry:?}");
    }
}

#[test]
fn a_task_that_kills_its_worker_starts_three_times() {
    let mut starts = 0;
    let mut delays = Vec::new();
    loop {
        starts += 1;
        match judge(RETRY, Ended::Lost, 0, starts) {
            Verdict::Wait(ms) => delays.push(ms),
            end => break assert_eq!(end, Verdict::Failed(Why::Losses)),
        }
    }
    assert_eq!((starts, delays), (3, vec![0, 10_000]));
}

#[test]
fn a_victim_is_spared_after_three_times() {
    let times: Vec<u32> = (0..10).filter(|&times| may_preempt(times)).collect();
    assert_eq!(times, (0..MAX_PREEMPTIONS).collect::<Vec<_>>());
}

proptest! {
    /// Whatever happens in whatever order, a task run that can end does, within its budgets.
    #[test]
    fn budgets_bound_the_attempts(
        max_attempts in 0u32..6, max_losses in 0u32..5,
        ends in proptest::collection::vec(0u8..3, 20),
    ) {
        let retry = Retry { max_attempts, max_losses, ..RETRY };
        let mut used = Used::default();
        let mut starts = 0;
        for end in ends {
            starts += 1;
            let ended = match end {
                0 => { used.failures += 1; RESET }
                1 => { used.failures += 1; Ended::Timeout }
                _ => { used.losses += 1; Ended::Lost }
            };
            match retry.judge(ended, used, 1, starts) {
                Verdict::Wait(0) => prop_assert!(end == 2 && used.losses == 1),
                Verdict::Wait(ms) => prop_assert!(ms >= 10_000),
                Verdict::Failed(_) | Verdict::Timeout(_) => break,
                Verdict::Again => prop_assert!(false, "not for these"),
            }
        }
        let bound = (max_attempts.max(1) - 1) + (max_losses.max(1) - 1) + 1;
        prop_assert!(starts <= bound, "{} starts of {}", starts, bound);
    }
}
