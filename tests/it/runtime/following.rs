//! Dags that follow an upstream, and ends of it that nobody saw who serves them: those of other
//! processes, and those of a time when nobody served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainspring::engine::check_definition;
use mainspring::model::{Instant, Outcome, RunId, State, Trigger};
use mainspring::runtime::{Finished, HandlerHost, NewRunRequest, Rerun, verify};
use mainspring::store::RunFilter;
use serde_json::{Value, json};

use super::handlers::{Desk, Folder, Host, START, returned, sound};

const HOUR: i64 = 3_600_000;

fn at(hour: i64) -> Instant {
    START.plus_millis(hour * HOUR)
}

/// An hourly dag whose schedule nobody fires here.
fn up() -> Value {
    json!({"name": "up", "tasks": [{"name": "a", "handler": "m:a"}],
        "schedules": [{"expression": "0 * * * *"}]})
}

fn down(edge: Value) -> Value {
    json!({"name": "down", "tasks": [{"name": "b", "handler": "m:b", "depends_on": [edge]}]})
}

fn register(desk: &Desk, specs: &[Value]) {
    let defs: Vec<_> = specs.iter().map(|spec| check_definition(spec).unwrap()).collect();
    desk.session.register(&defs).unwrap();
}

/// A notebook makes a run of `up` for this instant, and it ends.
fn end(desk: &Desk, host: &Arc<Host>, nominal_at: Instant) -> RunId {
    let request = NewRunRequest { nominal_at: Some(nominal_at), ..NewRunRequest::default() };
    let run = desk.session.submit("up", Arc::clone(host) as HandlerHost, request).unwrap();
    desk.wait(run);
    run
}

/// A scheduler that serves `down`.
fn scheduler(folder: &Folder, specs: &[Value], now: Instant) -> Desk {
    let desk = Desk::leading(folder, folder.store(), now, Some("main")).unwrap();
    register(&desk, specs);
    let host = Arc::new(Host::default()) as HandlerHost;
    desk.session.serve(vec![("down".into(), host)]).unwrap();
    desk.pass(1);
    desk
}

/// The instants of the runs of `down`, in the order in which these were made.
fn made(folder: &Folder) -> Vec<Instant> {
    let runs = folder.store().runs(&RunFilter::default()).unwrap();
    let mut runs: Vec<_> = runs.into_iter().filter(|run| run.row.dag == "down").collect();
    runs.sort_by_key(|run| run.row.id);
    assert!(runs.iter().all(|run| run.row.trigger == Trigger::Dependency && run.row.timed));
    assert!(runs.iter().all(|run| run.counts.contains(&(State::Success, 1))));
    runs.iter().map(|run| run.row.nominal_at).collect()
}

fn failed() -> Finished {
    Finished { outcome: Outcome::Failed, ..returned(None) }
}

#[test]
fn ends_that_nobody_saw_make_their_runs_once_and_in_order() {
    let folder = Folder::new("unseen");
    let notebook = Desk::open(&folder);
    let fails = Arc::new(AtomicBool::new(false));
    let is_spoilt = Arc::clone(&fails);
    let host = Host::default().on("a", move |_, _| {
        if is_spoilt.load(Ordering::SeqCst) { failed() } else { returned(None) }
    });
    let host = Arc::new(host);
    register(&notebook, &[up()]);
    // Registering makes no run of what was before.
    end(&notebook, &host, at(1));
    notebook.pass(HOUR);
    let specs = [up(), down(json!("up.a"))];
    register(&notebook, &specs);
    notebook.pass(HOUR);
    // Not in their order, one of them twice, one failed, and one that stands for no fire.
    end(&notebook, &host, at(3));
    end(&notebook, &host, at(2));
    end(&notebook, &host, at(2));
    end(&notebook, &host, at(2).plus_millis(HOUR / 2));
    fails.store(true, Ordering::SeqCst);
    let broken = end(&notebook, &host, at(4));
    fails.store(false, Ordering::SeqCst);

    let first = scheduler(&folder, &specs, at(6));
    assert_eq!(made(&folder), [at(2), at(3)]);
    // While it serves it sees what others end: a repair, and a run that is new.
    let rerun = Rerun { tasks: None, downstream: false };
    notebook.session.rerun(broken, Arc::clone(&host) as HandlerHost, &rerun).unwrap();
    notebook.wait(broken);
    first.pass(1);
    assert_eq!(made(&folder), [at(2), at(3), at(4)]);
    end(&notebook, &host, at(5));
    first.pass(1);
    assert_eq!(made(&folder), [at(2), at(3), at(4), at(5)]);
    // What has its run makes no second one, here or after the next start.
    end(&notebook, &host, at(3));
    first.pass(1);
    first.vanish();
    end(&notebook, &host, at(6));
    let second = scheduler(&folder, &specs, at(7));
    assert_eq!(made(&folder), [at(2), at(3), at(4), at(5), at(6)]);
    drop(second);
    assert_eq!(verify(&mut *folder.store()).unwrap(), []);
    sound(&folder);
}

#[test]
fn a_dag_follows_from_the_edit_on_that_makes_it_follow() {
    let folder = Folder::new("edited");
    let notebook = Desk::open(&folder);
    let host = Arc::new(Host::default());
    let alone = json!({"name": "down", "tasks": [{"name": "b", "handler": "m:b"}],
        "schedules": [{"expression": "0 0 1 1 *"}]});
    register(&notebook, &[up(), alone]);
    notebook.pass(HOUR);
    end(&notebook, &host, at(1));
    notebook.pass(HOUR);
    // It waited for it before, and had a schedule: the upstream made no run of it then.
    let timed = json!({"name": "down", "schedules": [{"expression": "0 0 1 1 *"}],
        "tasks": [{"name": "b", "handler": "m:b", "depends_on": ["up.a"]}]});
    register(&notebook, &[up(), timed]);
    notebook.pass(HOUR);
    end(&notebook, &host, at(2));
    notebook.pass(HOUR);
    let specs = [up(), down(json!("up.a"))];
    register(&notebook, &specs);
    notebook.pass(HOUR);
    end(&notebook, &host, at(3));
    notebook.pass(HOUR);
    // Another version of the same task follows as before.
    let edited = json!({"upstream": "up.a", "kind": "COMPLETED"});
    let specs = [up(), down(edited)];
    register(&notebook, &specs);
    let desk = scheduler(&folder, &specs, at(6));
    assert_eq!(made(&folder), [at(3)]);
    drop(desk);
}

#[test]
fn two_who_see_an_end_make_one_run() {
    let folder = Folder::new("two");
    let notebook = Desk::open(&folder);
    let host = Arc::new(Host::default());
    let specs = [up(), down(json!("up.a"))];
    register(&notebook, &specs);
    notebook.pass(HOUR);
    // The second does not lead: nothing but the database keeps the two apart.
    let first = scheduler(&folder, &specs, at(2));
    let other = Desk::at(&folder, folder.store(), at(2));
    let served = Arc::new(Host::default()) as HandlerHost;
    register(&other, &specs);
    other.session.serve(vec![("down".into(), served)]).unwrap();
    for hour in 2..6 {
        end(&notebook, &host, at(hour));
        std::thread::scope(|scope| {
            scope.spawn(|| first.pass(1));
            scope.spawn(|| other.pass(1));
        });
    }
    assert_eq!(made(&folder), [at(2), at(3), at(4), at(5)]);
    sound(&folder);
}
