//! Probes and gates in a session: asked at their instants, in spite of other processes and restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mainspring::model::{AttemptRecord, Outcome, RunId, RunState, State};
use mainspring::runtime::{Finished, HandlerHost, NewRunRequest, SessionError};
use mainspring::store::AttemptFilter;
use serde_json::json;

use super::handlers::{Desk, Folder, Host, START, returned, sound, states};

fn tasks() -> serde_json::Value {
    json!([
        {"name": "p", "type": "probe", "handler": "m:p", "interval": "10s", "timeout": "100s"},
        {"name": "a", "handler": "m:a", "depends_on": ["p"]},
    ])
}

/// A check that says yes when it was asked so often, and how often that was.
fn probe(yes: u32) -> (Arc<Host>, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let host = Host::default().on("p", move |job, _| {
        let nth = count.fetch_add(1, Ordering::SeqCst) + 1;
        job.log.write(format!("asked {nth}\n").as_bytes(), mainspring::runtime::Stream::Out);
        match nth >= yes {
            true => returned(Some("\"yes\"")),
            false => Finished::not_ready(AttemptRecord::default()),
        }
    });
    (Arc::new(host), asked)
}

#[test]
fn other_processes_neither_hasten_nor_delay_a_question() {
    let folder = Folder::new("rests");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let (host, asked) = probe(5);
    let run = desk.submit(&host);
    desk.pass(14_000);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // Another process takes ids, so the next commit here is refused and the world is read anew.
    let beside = Desk::open(&folder);
    for _ in 0..3 {
        let other = beside.submit(&Arc::new(Host::default()));
        beside.wait(other);
        let mine = desk.submit(&Arc::new(Host::default()));
        desk.pass(0);
        desk.wait(mine);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "asked before its time");
    desk.pass(5_999);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    desk.pass(1);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    desk.pass(20_000);
    desk.wait(run);
    let attempts = folder.store().attempts(&AttemptFilter::Run(run)).unwrap();
    let first = &attempts[0];
    assert_eq!((first.record.polls, first.outcome), (Some(5), Some(Outcome::Success)));
    assert_eq!(first.finished_at, Some(START.plus_millis(40_000)));
    assert_eq!(
        first.record.log_tail.as_deref(),
        Some("asked 1\nasked 2\nasked 3\nasked 4\nasked 5")
    );
    sound(&folder);
}

#[test]
fn whoever_takes_a_run_up_asks_on_in_the_same_attempt() {
    let folder = Folder::new("rests");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let (host, asked) = probe(100);
    let run = desk.submit(&host);
    desk.pass(25_000);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    desk.vanish();
    let next = Desk::at(&folder, folder.store(), START.plus_millis(42_000));
    let (host, asked) = probe(100);
    next.session.resume(run, Arc::clone(&host) as HandlerHost).unwrap();
    next.pass(0);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    next.pass(8_000);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // The time that passed before counts.
    next.pass(49_999);
    assert_eq!(states(&folder, run)[0].1, State::Running);
    next.pass(1);
    next.wait(run);
    assert_eq!(states(&folder, run)[0], ("p".to_owned(), State::Timeout, 1));
    let attempts = folder.store().attempts(&AttemptFilter::Run(run)).unwrap();
    let log = std::fs::read_to_string(attempts[0].record.log_uri.as_ref().unwrap()).unwrap();
    // Three of the first process, and of the second those at 42, 50, 60, 70, 80 and 90 seconds.
    assert_eq!(log.lines().count(), 3 + 6, "{log}");
    sound(&folder);
}

#[test]
fn a_word_is_durable_when_it_is_answered_and_refused_where_nobody_waits() {
    let folder = Folder::new("rests");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "g", "type": "gate"},
                         {"name": "a", "handler": "m:a", "depends_on": ["g"]}]));
    let run = desk.submit(&Arc::new(Host::default()));
    desk.pass(3_000);
    let say = |task: &str, reject: bool| {
        desk.session.approve(run, task, reject, Some("well".into()), Some("ann".into()))
    };
    assert!(matches!(say("h", false), Err(SessionError::NotFound(_))));
    assert!(matches!(say("a", false), Err(SessionError::Refused(_))));
    say("g", false).unwrap();
    assert_eq!(states(&folder, run)[0], ("g".to_owned(), State::Success, 1));
    let text = folder.store().task_runs(run).unwrap()[0].row.progress.result.clone().unwrap();
    let said: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(said, json!({"by": "ann", "note": "well", "at": "2024-01-15T00:00:03Z"}));
    desk.wait(run);
    let SessionError::Refused(why) = say("g", true).unwrap_err() else { panic!("not refused") };
    assert_eq!(why, format!("nobody's word is awaited: run {run} has ended as SUCCESS"));
    let none = desk.session.approve(RunId(99), "g", false, None, None);
    assert!(matches!(none, Err(SessionError::NotFound(_))));
    sound(&folder);
}

#[test]
fn a_session_ends_over_what_rests_and_leaves_it_as_it_is() {
    let folder = Folder::new("rests");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "g", "type": "gate"},
                         {"name": "p", "type": "probe", "handler": "m:p", "interval": "10s"}]));
    let (host, _) = probe(100);
    let run = desk.submit(&host);
    desk.pass(5_000);
    desk.session.close(60_000, None);
    let row = folder.store().stored_run(run).unwrap().unwrap();
    assert_eq!(row.row.state, RunState::Running);
    assert_eq!(row.leases.iter().map(|lease| lease.slots).sum::<u32>(), 0);
    let running = |name: &str| (name.to_owned(), State::Running, 1);
    assert_eq!(states(&folder, run), [running("g"), running("p")]);
    sound(&folder);
}

#[test]
fn what_run_on_skips_runs_where_it_is_forced() {
    let folder = Folder::new("rests");
    let desk = Desk::open(&folder);
    // The clock shows a Monday.
    desk.register(json!([{"name": "a", "handler": "m:a", "run_on": "SUN"}]));
    let host = Arc::new(Host::default());
    for (force, state) in [(false, State::Skipped), (true, State::Success)] {
        let request = NewRunRequest { force, ..NewRunRequest::default() };
        let run = desk.session.submit("d", Arc::clone(&host) as HandlerHost, request).unwrap();
        desk.wait(run);
        assert_eq!(states(&folder, run)[0].1, state);
    }
    sound(&folder);
}
