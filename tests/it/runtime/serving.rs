//! Schedules that fire in a session: beside other processes, after a crash, and by hand broken.

use std::sync::Arc;
use std::time::Duration;

use mainspring::engine::{
    Event, NewRun, Plan, PlannedTask, World, apply, check_definition, decide,
};
use mainspring::model::{
    Instant, Missed, NodeId, NodeRow, Outcome, RunId, RunState, SkipReason, State, Trigger,
};
use mainspring::runtime::{NewRunRequest, News, SessionError, unreadable, verify};
use mainspring::store::{AttemptFilter, RunFilter};
use serde_json::json;

use super::handlers::{Desk, Folder, Host, START, returned, sound, states};
use crate::sim::batch::batch_of;

const HOUR: i64 = 3_600_000;

fn at(hour: i64) -> Instant {
    START.plus_millis(hour * HOUR)
}

fn one() -> serde_json::Value {
    json!([{"name": "a", "handler": "m:a"}])
}

fn times(folder: &Folder) -> Vec<Instant> {
    let runs = folder.store().runs(&RunFilter::default()).unwrap();
    let mut times: Vec<Instant> = runs.iter().map(|run| run.row.nominal_at).collect();
    times.sort_unstable();
    times
}

/// Another process makes the timed run of `d` for this instant.
fn made_elsewhere(folder: &Folder, nominal_at: Instant) -> RunId {
    let mut store = folder.store();
    let node = NodeRow {
        id: NodeId(0),
        host: "there".into(),
        pid: 7,
        role: "test".into(),
        version: "0".into(),
        started_at: START,
        heartbeat_at: START,
        lease_until: START,
        stopped_at: None,
    };
    let lease = store.join(&node).unwrap();
    let dag = store.dag("d").unwrap().unwrap();
    let planned = dag.tasks.iter().map(|task| PlannedTask {
        task_id: task.task_id,
        version_id: task.version_id,
        def: Arc::clone(&task.def),
        enabled: true,
    });
    let plan = Arc::new(Plan::build(dag.id, "d", planned.collect()).unwrap());
    let new = NewRun {
        plan,
        nominal_at,
        biz_date: mainspring::model::Date(19_000),
        interval: (nominal_at, nominal_at),
        timezone: "UTC".into(),
        trigger: Trigger::Schedule,
        task: None,
        timed: true,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params: Default::default(),
        schedules: vec![],
        only: None,
        force: false,
    };
    let next = store.next_ids().unwrap();
    let mut world = World::new((next.run, next.task_run), 0, lease.node_id, lease.scope_id);
    let decision = decide(&world, &Event::CreateRun(new), nominal_at).unwrap();
    apply(&mut world, &decision).unwrap();
    store.commit(&batch_of(&world, &decision, lease, nominal_at)).unwrap();
    decision.creates[0].row.id
}

#[test]
fn a_run_that_another_process_made_is_linked_and_not_made_again() {
    let folder = Folder::new("linked");
    let desk = Desk::open(&folder);
    let host = Arc::new(Host::default());
    desk.serve(one(), json!([{"expression": "0 * * * *"}]), &host);
    let theirs: Vec<RunId> = (1..=3).map(|hour| made_elsewhere(&folder, at(hour))).collect();
    desk.pass(4 * HOUR);
    assert_eq!(times(&folder), [at(1), at(2), at(3), at(4)]);
    let life = folder.store().life(None, 10).unwrap().unwrap();
    assert_eq!(life.watermark, at(4));
    let linked: Vec<RunId> = life.fired.iter().rev().map(|(_, run)| *run).collect();
    assert_eq!(linked[..3], theirs);
    assert_eq!(host.calls().len(), 1, "only ours is called here");
    sound(&folder);
}

#[test]
fn a_pause_ends_and_its_fires_are_made_in_one_turn() {
    let folder = Folder::new("resumed");
    let desk = Desk::open(&folder);
    desk.serve(one(), json!([{"expression": "0 * * * *"}]), &Arc::new(Host::default()));
    desk.pass(HOUR);
    desk.session.pause("d", None, true, None).unwrap();
    desk.pass(3 * HOUR);
    assert_eq!(times(&folder), [at(1)]);
    desk.session.pause("d", None, false, Some(Missed::All)).unwrap();
    desk.pass(HOUR);
    assert_eq!(times(&folder), [at(1), at(2), at(3), at(4), at(5)]);
    sound(&folder);
}

/// A version is gone, by hand or by a damaged disk: its run cannot go on, and the rest does.
#[test]
fn a_run_that_cannot_be_read_is_told_once_and_stops_nothing_else() {
    let folder = Folder::with_file("unreadable");
    let lead = |now| Desk::leading(&folder, folder.store(), now, Some("main")).unwrap();
    let first = lead(START);
    let (go, gate) = crossbeam_channel::bounded::<()>(1);
    let host = Host::default().on("a", move |_, _| {
        let _ = gate.recv();
        returned(None)
    });
    first.serve(one(), json!([{"expression": "0 1 * * *"}]), &Arc::new(host));
    first.advance(HOUR);
    let runs = || folder.store().runs(&RunFilter::default()).unwrap();
    for _ in 0..60_000 {
        if runs().iter().any(|run| run.counts.contains(&(State::Running, 1))) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let broken = runs()[0].row.id;
    first.vanish();

    let next = lead(at(2));
    let edited = json!([{"name": "a", "handler": "m:a", "doc": "edited"}]);
    next.session
        .register(&[check_definition(&json!({"name": "d", "tasks": edited})).unwrap()])
        .unwrap();
    let sql = rusqlite::Connection::open(folder.database()).unwrap();
    assert_eq!(sql.execute("DELETE FROM task_version WHERE version = 1", []).unwrap(), 1);
    let host = Arc::new(Host::default());
    let schedules = json!([{"expression": "0 3 * * *"}]);
    next.serve(edited.clone(), schedules.clone(), &host);
    next.serve(edited, schedules, &host);
    next.pass(2 * HOUR);
    assert_eq!(times(&folder), [at(1), at(3)]);
    assert_eq!(host.calls().len(), 1);
    let told: Vec<News> = next
        .session
        .news()
        .into_iter()
        .filter(|news| matches!(news, News::Unreadable { .. }))
        .collect();
    let [News::Unreadable { dag: None, run: Some(run), why, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(*run, broken);
    assert!(why.contains("is not in the database"), "{why}");
    let listed = unreadable(&mut *folder.store()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&*listed[0].dag, listed[0].run), ("d", Some(broken)));
    drop(go);
}

/// Each of these says nothing that a schedule could be read from.
#[test]
fn a_dag_that_cannot_be_read_is_told_and_the_others_fire() {
    for broken in [
        "UPDATE schedule_period SET rule = json_set(rule, '$.expression', 'never ever')",
        "UPDATE schedule_period SET rule = '{'",
        "UPDATE schedule SET definition = '[]'",
        "UPDATE task_version SET definition = 'x'",
    ] {
        let folder = Folder::with_file("unreadable-dag");
        let desk = Desk::open(&folder);
        let schedules = json!([{"expression": "0 * * * *"}]);
        let dags = ["bad", "good"].map(|name| {
            let spec = json!({"name": name, "tasks": one(), "schedules": schedules});
            check_definition(&spec).unwrap()
        });
        desk.session.register(&dags).unwrap();
        let sql = rusqlite::Connection::open(folder.database()).unwrap();
        // The first that was registered.
        assert_eq!(sql.execute(&format!("{broken} WHERE id = 1"), []).unwrap(), 1);
        let host = Arc::new(Host::default()) as mainspring::runtime::HandlerHost;
        let served = ["bad", "good"].map(|name| (name.to_owned(), Arc::clone(&host)));
        desk.session.serve(served.to_vec()).unwrap();
        desk.pass(2 * HOUR);
        let runs = folder.store().runs(&RunFilter::default()).unwrap();
        assert!(runs.iter().all(|run| run.row.dag == "good"), "{broken}");
        assert_eq!(times(&folder), [at(1), at(2)], "{broken}");
        let told = desk.session.news();
        let told = told.iter().filter_map(|news| match news {
            News::Unreadable { dag, run: None, .. } => dag.as_deref(),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), ["bad"], "{broken}");
        let listed = unreadable(&mut *folder.store()).unwrap();
        let listed: Vec<_> = listed.iter().map(|each| (&*each.dag, each.run)).collect();
        assert_eq!(listed, [("bad", None)], "{broken}");
    }
}

#[test]
fn a_run_that_has_ended_is_linked_by_a_schedule_that_comes_later() {
    let folder = Folder::new("later");
    let desk = Desk::open(&folder);
    let host = Arc::new(Host::default());
    // Spread by so much, the second comes after the run of the first has ended.
    let spread = json!({"expression": "0 1 * * *", "jitter": "10h"});
    desk.serve(one(), json!([{"expression": "0 1 * * *"}, spread]), &host);
    desk.pass(23 * HOUR);
    assert_eq!(times(&folder), [at(1)]);
    let mut store = folder.store();
    let first = store.life(None, 10).unwrap().unwrap();
    let second = store.life(Some(first.id), 10).unwrap().unwrap();
    assert_eq!(first.fired, second.fired);
    assert_eq!(second.watermark, at(1));
    sound(&folder);
}

#[test]
fn who_takes_over_after_a_crash_goes_on_and_the_old_one_writes_nothing() {
    let folder = Folder::new("leads");
    let lead = |now| Desk::leading(&folder, folder.store(), now, Some("schedules"));
    let tasks = json!([
        {"name": "again", "handler": "m:again"},
        {"name": "once", "handler": "m:once", "idempotent": false},
    ]);
    let schedules = json!([{"expression": "0 * * * *", "missed": "last"}]);
    let first = lead(START).unwrap();
    let (go, gate) = crossbeam_channel::unbounded::<()>();
    let (begun, begins) = crossbeam_channel::unbounded::<()>();
    let block = move |gate: crossbeam_channel::Receiver<()>| {
        let begun = begun.clone();
        move |_: &_, _: &_| {
            let _ = begun.send(());
            let _ = gate.recv();
            returned(None)
        }
    };
    let host = Host::default().on("again", block(gate.clone())).on("once", block(gate));
    first.serve(tasks.clone(), schedules.clone(), &Arc::new(host));
    first.advance(HOUR);
    for _ in 0..2 {
        begins.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    let Err(SessionError::Refused(refused)) = lead(at(1)) else { panic!("two at once") };
    let pid = std::process::id();
    let named = format!("process {pid} on here schedules for this database already");
    assert!(refused.contains(&named), "{refused}");

    first.vanish();
    let second = lead(at(6)).unwrap();
    let host = Arc::new(Host::default());
    second.serve(tasks, schedules, &host);
    second.pass(0);
    let run = RunId(1);
    let name = |n: &str| n.to_owned();
    assert_eq!(
        states(&folder, run),
        [(name("again"), State::Success, 2), (name("once"), State::Failed, 1)]
    );
    let attempts = folder.store().attempts(&AttemptFilter::Run(run)).unwrap();
    let lost = attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Lost));
    assert_eq!(lost.count(), 2);
    // Of the hours that nobody saw the newest is run.
    assert_eq!(times(&folder), [at(1), at(6)]);
    let skips = folder.store().life(None, 10).unwrap().unwrap().skips;
    let [skip] = &skips[..] else { panic!("{skips:?}") };
    assert_eq!((skip.from, skip.to, skip.count), (at(2), at(5), 4));
    assert_eq!(skip.reason, SkipReason::Missed);

    // The old one wakes up.
    let before = folder.store().runs(&RunFilter::default()).unwrap();
    let journal = folder.store().journal(run).unwrap();
    drop(go);
    first.advance(10 * HOUR);
    let refused = first.session.submit("d", host.clone(), NewRunRequest::default());
    assert!(refused.is_err(), "{refused:?}");
    // It serves nothing any more, so there is nothing here to pause.
    first.session.pause("d", None, true, None).unwrap();
    assert_eq!(folder.store().runs(&RunFilter::default()).unwrap(), before);
    assert_eq!(folder.store().journal(run).unwrap(), journal);
    second.pass(HOUR);
    assert_eq!(times(&folder), [at(1), at(6), at(7)]);
    assert!(before.iter().all(|run| run.row.state != RunState::Running));
    sound(&folder);
}

#[test]
fn a_fire_that_was_lost_by_hand_is_found() {
    let folder = Folder::with_file("broken");
    let desk = Desk::open(&folder);
    let host = Arc::new(Host::default());
    desk.serve(one(), json!([{"expression": "0 * * * *", "missed": "last"}]), &host);
    desk.pass(2 * HOUR);
    // Nobody looks from 02:00 to 06:00: 3 to 5 are left out.
    desk.advance(4 * HOUR);
    desk.pass(0);
    assert_eq!(times(&folder), [at(1), at(2), at(6)]);
    sound(&folder);
    drop(desk);
    let neither = |hour| format!("d.default: the fire of {} is neither", at(hour));
    let both = |hour| format!("d.default: the fire of {} is both", at(hour));
    let cases = [
        ("DELETE FROM run_schedule WHERE run_id = 2", vec![neither(2)]),
        ("DELETE FROM skip", vec![neither(3), neither(4), neither(5)]),
        ("UPDATE skip SET to_at = to_at - 3600000000", vec![neither(5)]),
        ("UPDATE skip SET from_at = from_at - 3600000000, count = count + 1", vec![both(2)]),
        ("UPDATE schedule SET watermark_at = watermark_at + 3600000000", vec![neither(7)]),
        (
            "UPDATE skip SET count = 4",
            vec![format!("d.default: a skip of 4 from {} to {} has 3 fires", at(3), at(5))],
        ),
        (
            "UPDATE run SET nominal_at = nominal_at + 60000000 WHERE id = 1",
            vec![neither(1), "run 1 is for 2024-01-15T01:01:00Z, when it does not fire".into()],
        ),
    ];
    for (harm, expected) in cases {
        let mut store = folder.file_store();
        store.connection().execute_batch(harm).unwrap();
        let found = verify(&mut store).unwrap();
        let rows = || found.iter().filter(|each| each.invariant == "U2").flat_map(|e| &e.rows);
        for row in &expected {
            assert!(rows().any(|found| found.contains(row)), "{harm}\n{row}\n{found:?}");
        }
        let undo = match harm {
            "DELETE FROM run_schedule WHERE run_id = 2" => {
                "INSERT INTO run_schedule (run_id, schedule_id) VALUES (2, 1)".to_owned()
            }
            _ => format!(
                "DELETE FROM skip;
                INSERT INTO skip (schedule_id, from_at, to_at, count, reason, created_at)
                VALUES (1, {}, {}, 3, 'missed', {});
                UPDATE schedule SET watermark_at = {};
                UPDATE run SET nominal_at = {} WHERE id = 1",
                at(3).0,
                at(5).0,
                at(6).0,
                at(6).0,
                at(1).0
            ),
        };
        store.connection().execute_batch(&undo).unwrap();
        assert_eq!(verify(&mut store).unwrap(), [], "after {harm}");
    }
    // A proof has bounds, and says what it left out.
    let proof = mainspring::runtime::prove_fires(&mut *folder.store(), 2).unwrap();
    assert_eq!((proof.fires, proof.violations.len()), (2, 0));
    assert_eq!(proof.unproven, [("d.default".to_owned(), at(4))]);
}

/// C19: a deadlock is told within a minute, and once.
#[test]
fn runs_that_wait_for_each_other_are_told_once() {
    let folder = Folder::new("circle");
    let desk = Desk::open(&folder);
    let tasks = json!([
        {"name": "x", "handler": "m:x",
            "depends_on": [{"upstream": "y", "offset": 1, "allow_future": true}]},
        {"name": "y", "handler": "m:y", "depends_on": [{"upstream": "x", "offset": -1}]},
    ]);
    desk.serve(tasks, json!([{"expression": "0 1 * * *"}]), &Arc::new(Host::default()));
    let circles = |desk: &Desk| -> Vec<String> {
        let told = desk.session.news().into_iter();
        told.filter_map(|news| match news {
            News::Circle { why, .. } => Some(why),
            _ => None,
        })
        .collect()
    };
    // The first day has no day before it, so nothing waits for each other yet.
    desk.pass(24 * HOUR);
    desk.pass(HOUR / 60);
    assert_eq!(circles(&desk), Vec::<String>::new());
    desk.pass(2 * HOUR);
    assert_eq!(circles(&desk), ["d.x of run 1 -> d.y of run 2 -> d.x of run 1"]);
    desk.pass(HOUR);
    assert_eq!(circles(&desk), Vec::<String>::new());
}
