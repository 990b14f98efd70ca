//! A process leaves, another takes up what it began.

use std::sync::Arc;

use mainspring::model::State;
use mainspring::runtime::SessionError;
use serde_json::json;

use super::handlers::{Desk, Folder, Host, returned, sound, states};

fn chain() -> serde_json::Value {
    json!([
        {"name": "a", "handler": "m:a"},
        {"name": "b", "handler": "m:b", "depends_on": ["a"]},
        {"name": "c", "handler": "m:c", "depends_on": ["b"]},
    ])
}

#[test]
fn an_orderly_shutdown_burns_no_attempt_and_the_run_goes_on_elsewhere() {
    let folder = Folder::new("shutdown");
    let first = Desk::open(&folder);
    first.register(chain());
    let run = first.submit(&Arc::new(Host::default().on("b", |_, stop| {
        let _ = stop.recv();
        mainspring::runtime::Finished::failed("STOPPED", "Stopped", "asked to stop")
    })));
    first.until(run, State::Success, 1);
    first.session.close(60_000, None);
    let name = |n: &str| n.to_owned();
    assert_eq!(
        states(&folder, run),
        [
            (name("a"), State::Success, 1),
            (name("b"), State::Ready, 1),
            (name("c"), State::Pending, 0)
        ]
    );

    let second = Desk::open(&folder);
    let host = Arc::new(Host::default().on("b", |_, _| returned(None)));
    second.session.resume(run, host.clone()).unwrap();
    second.wait(run);
    assert_eq!(host.calls(), [(name("b"), 2), (name("c"), 1)]);
    sound(&folder);
}

#[test]
fn a_run_whose_process_lives_is_not_taken_from_it() {
    let folder = Folder::new("alive");
    let first = Desk::open(&folder);
    first.register(chain());
    let (go, gate) = crossbeam_channel::bounded::<()>(1);
    let host = Host::default().on("a", move |_, _| {
        let _ = gate.recv();
        returned(None)
    });
    let run = first.submit(&Arc::new(host));
    first.until(run, State::Running, 1);
    let second = Desk::open(&folder);
    let refused = second.session.resume(run, Arc::new(Host::default())).unwrap_err();
    assert!(matches!(refused, SessionError::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("is being run by process"), "{refused}");
    go.send(()).unwrap();
    first.wait(run);
    let refused = second.session.resume(run, Arc::new(Host::default())).unwrap_err();
    assert!(refused.to_string().contains("has ended as SUCCESS"), "{refused}");
    sound(&folder);
}

/// Nobody waits out a delay for a process that was killed: the first loss has none.
#[test]
fn what_was_lost_begins_again_at_once() {
    let folder = Folder::new("lost");
    let first = Desk::open(&folder);
    first.register(chain());
    let (go, gate) = crossbeam_channel::bounded::<()>(1);
    let run = first.submit(&Arc::new(Host::default().on("a", move |_, _| {
        let _ = gate.recv();
        returned(None)
    })));
    first.until(run, State::Running, 1);
    first.vanish();

    let second = Desk::open(&folder);
    second.session.resume(run, Arc::new(Host::default())).unwrap();
    second.wait(run);
    let name = |n: &str| n.to_owned();
    assert_eq!(
        states(&folder, run),
        [
            (name("a"), State::Success, 2),
            (name("b"), State::Success, 1),
            (name("c"), State::Success, 1)
        ]
    );
    sound(&folder);
    drop(go);
}
