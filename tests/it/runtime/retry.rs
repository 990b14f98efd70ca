//! Delays and time limits under a clock that is moved by hand.

use std::sync::Arc;

use mainspring::model::{Outcome, State, StopReason};
use mainspring::runtime::Finished;
use mainspring::store::AttemptFilter;
use serde_json::json;

use super::handlers::{Desk, Folder, Host, START, returned, sound, states};

#[test]
fn a_retry_waits_for_its_delay_and_no_longer() {
    let folder = Folder::new("retry");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "a", "handler": "m:a", "max_attempts": 3,
                          "retry_interval": "5s", "retry_backoff": "exponential"}]));
    let host = Arc::new(Host::default().on("a", |job, _| match job.attempt.attempt_no {
        3 => returned(None),
        _ => Finished::failed("ERROR", "ValueError", "not yet"),
    }));
    let run = desk.submit(&host);
    desk.until(run, State::RetryWait, 1);
    desk.advance(4_999);
    desk.until(run, State::RetryWait, 1);
    assert_eq!(host.calls().len(), 1, "one millisecond is missing");
    desk.advance(1);
    desk.until(run, State::RetryWait, 1);
    // The second delay is twice the first.
    while host.calls().len() < 2 {
        std::thread::yield_now();
    }
    desk.until(run, State::RetryWait, 1);
    desk.advance(10_000);
    desk.wait(run);
    let attempts = folder.store().attempts(&AttemptFilter::Run(run)).unwrap();
    let starts: Vec<i64> =
        attempts.iter().map(|attempt| (attempt.start.started_at - START) / 1_000).collect();
    assert_eq!(starts, [0, 5_000, 15_000]);
    sound(&folder);
}

#[test]
fn an_attempt_that_heeds_its_time_limit_ends_as_timeout() {
    let folder = Folder::new("timeout");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "a", "handler": "m:a", "timeout": "10s"}]));
    let run = desk.submit(&Arc::new(Host::default().on("a", |_, stop| {
        assert_eq!(stop.recv().unwrap(), StopReason::Timeout);
        // Whatever it returns now, it is too late.
        returned(Some("1"))
    })));
    desk.until(run, State::Running, 1);
    desk.advance(10_000);
    desk.wait(run);
    assert_eq!(states(&folder, run), [("a".to_owned(), State::Timeout, 1)]);
    sound(&folder);
}

/// The calling process cannot kill a thread: after the grace the end is recorded, the slot stays
/// held, and the next attempt waits until the thread has ended.
#[test]
fn an_attempt_that_ignores_its_time_limit_keeps_its_slot() {
    let folder = Folder::new("zombie");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "a", "handler": "m:a", "timeout": "10s", "grace": "2s",
                          "max_attempts": 2, "retry_interval": "1s"}]));
    let (go, gate) = crossbeam_channel::bounded::<()>(1);
    let (inside, entered) = crossbeam_channel::bounded::<()>(1);
    let host = Arc::new(Host::default().on("a", move |job, _| {
        if job.attempt.attempt_no == 1 {
            inside.send(()).unwrap();
            gate.recv().unwrap();
        }
        returned(None)
    }));
    let run = desk.submit(&host);
    desk.until(run, State::Running, 1);
    // A thread that has not begun yet would give its slot back at once.
    entered.recv().unwrap();
    desk.advance(10_000);
    // The grace counts from when it was asked to stop, and that is committed first.
    while folder.store().stored_run(run).unwrap().unwrap().leases[0].stop_reason.is_none() {
        std::thread::yield_now();
    }
    desk.advance(2_000);
    desk.until(run, State::RetryWait, 1);
    let attempts = folder.store().attempts(&AttemptFilter::Run(run)).unwrap();
    assert_eq!(attempts[0].outcome, Some(Outcome::Timeout));
    desk.advance(60_000);
    desk.until(run, State::RetryWait, 1);
    assert_eq!(host.calls().len(), 1, "its thread still runs");
    go.send(()).unwrap();
    desk.wait(run);
    assert_eq!(states(&folder, run), [("a".to_owned(), State::Success, 2)]);
    sound(&folder);
}

#[test]
fn cancel_is_final_whatever_arrives_later() {
    let folder = Folder::new("cancel");
    let desk = Desk::open(&folder);
    desk.register(json!([
        {"name": "a", "handler": "m:a", "max_attempts": 5},
        {"name": "b", "handler": "m:b", "depends_on": ["a"]},
    ]));
    let run = desk.submit(&Arc::new(Host::default().on("a", |_, stop| {
        assert_eq!(stop.recv().unwrap(), StopReason::Cancel);
        returned(Some("1"))
    })));
    desk.until(run, State::Running, 1);
    desk.session.cancel(run, None, None).unwrap();
    desk.wait(run);
    let name = |n: &str| n.to_owned();
    assert_eq!(
        states(&folder, run),
        [(name("a"), State::Canceled, 1), (name("b"), State::Canceled, 0)]
    );
    sound(&folder);
}
