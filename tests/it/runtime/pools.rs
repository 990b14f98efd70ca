//! Named pools are shared by all processes on a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mainspring::model::State;
use serde_json::json;

use super::handlers::{Desk, Folder, Host, returned, sound};

#[test]
fn two_processes_never_hold_more_than_the_pool_has() {
    at_most_three("pools", &json!({"pool": "api"}));
}

#[test]
fn two_processes_never_hold_more_than_a_limit_has() {
    at_most_three("limits", &json!({"limits": ["api"]}));
}

/// Each is found full in turns, and one does not make the other forgotten.
#[test]
fn a_full_pool_and_a_full_limit_are_borne_together() {
    at_most_three("both", &json!({"pool": "api", "limits": ["api", "other"]}));
}

fn at_most_three(name: &str, policy: &serde_json::Value) {
    let folder = Folder::new(name);
    let desks = [Desk::open(&folder), Desk::open(&folder)];
    let task = |i: i32| {
        let mut task = json!({"name": format!("t{i}"), "handler": "m:t"});
        for (field, value) in policy.as_object().unwrap() {
            task[field] = value.clone();
        }
        task
    };
    let spec = json!({"name": "d", "known_pools": ["api"], "known_limits": ["api", "other"],
        "tasks": (0..30).map(task).collect::<Vec<_>>()});
    let def = mainspring::engine::check_definition(&spec).unwrap();
    let (now, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let mut runs = Vec::new();
    for desk in &desks {
        desk.session.set_pool("api", 3).unwrap();
        desk.session.set_limit("api", 3).unwrap();
        desk.session.set_limit("other", 3).unwrap();
        desk.session.register(std::slice::from_ref(&def)).unwrap();
        let mut host = Host::default();
        for i in 0..30 {
            let (now, most) = (now.clone(), most.clone());
            host = host.on(&format!("t{i}"), move |_, _| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                returned(None)
            });
        }
        runs.push(desk.submit(&Arc::new(host)));
    }
    // Whoever found the pool full looks again after a while of the clock that we move.
    for _ in 0..60_000 {
        let done =
            |desk: &Desk, run| desk.session.watch(run).unwrap().status().count(State::Success);
        if desks.iter().zip(&runs).all(|(desk, run)| done(desk, *run) == 30) {
            break;
        }
        for (desk, run) in desks.iter().zip(&runs) {
            desk.advance(100);
            desk.session.watch(*run).unwrap().wait(std::time::Duration::from_millis(1));
        }
    }
    for (desk, run) in desks.iter().zip(&runs) {
        desk.wait(*run);
    }
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?} at once");
    sound(&folder);
}

/// A pool that was made by another process, earlier, has its slots from the first run on.
#[test]
fn a_pool_of_yesterday_is_known_today() {
    let folder = Folder::new("yesterday");
    let spec = json!({"name": "d", "known_pools": ["api"],
        "tasks": [{"name": "t", "handler": "m:t", "pool": "api"}]});
    let def = mainspring::engine::check_definition(&spec).unwrap();
    {
        let desk = Desk::open(&folder);
        desk.session.set_pool("api", 2).unwrap();
        desk.session.register(std::slice::from_ref(&def)).unwrap();
    }
    let desk = Desk::open(&folder);
    let run = desk.submit(&Arc::new(Host::default()));
    desk.wait(run);
    assert_eq!(desk.session.watch(run).unwrap().status().count(State::Success), 1);
}
