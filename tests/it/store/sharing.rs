//! Several stores on one file at once. Nobody ever reads "database is locked".

use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use mainspring::store::{RunFilter, SqliteOptions, SqliteStore, Store, StoreError};
use rusqlite::Connection;

use super::support::file::{Folder, open};
use super::support::{Desk, at, dag, flights, new_run, node, schedule, task};

const THREADS: usize = 8;
const ROUNDS: i64 = 25;

#[test]
fn eight_writers_lose_nothing() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (path, together) = (&path, &together);
            scope.spawn(move || {
                together.wait();
                // Opening races too: the first one makes the file.
                let mut store = open(path);
                let lease = store.join(&node(number as i64)).unwrap();
                for round in 0..ROUNDS {
                    let own = dag(&format!("own_{number}"), vec![task(&format!("t{round}"), &[])]);
                    let mut shared = flights();
                    shared.schedules = vec![schedule("default", "0 2 * * *")];
                    let shared = store.register(&[own, shared], at(round)).unwrap().remove(1);
                    // Others take the ids meanwhile: decide again with the right ones.
                    loop {
                        let ids = store.next_ids().unwrap();
                        let mut batch = mainspring::store::Batch::new(lease, at(round));
                        batch.created.push(new_run(&shared, lease, ids, round));
                        match store.commit(&batch) {
                            Ok(()) => break,
                            Err(mainspring::store::CommitError::IdsMoved(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    store.heartbeat(lease, at(round), at(round + 15)).unwrap();
                }
            });
        }
    });
    let mut store = open(&path);
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len() as i64, THREADS as i64 * ROUNDS);
    let shared = store.dag("flights").unwrap().unwrap();
    assert_eq!(shared.revision, 1);
    // Who came first, in round 0, began the life of the schedule; nobody after that touched it.
    let [schedule] = &store.schedules(shared.id).unwrap()[..] else { panic!("not one schedule") };
    assert_eq!((schedule.watermark, schedule.periods.len()), (at(0), 1));
    assert_eq!(store.dag_keys().unwrap().len(), THREADS + 1);
    assert_eq!(store.verify().unwrap(), []);
}

/// Holds the write lock until told to let go.
fn hold(path: &std::path::Path) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (let_go, told) = mpsc::channel::<()>();
    let (held, is_held) = mpsc::channel();
    let path = path.to_owned();
    let thread = thread::spawn(move || {
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE held (id);").unwrap();
        held.send(()).unwrap();
        let _ = told.recv();
        other.execute_batch("ROLLBACK").unwrap();
    });
    is_held.recv().unwrap();
    (let_go, thread)
}

#[test]
fn a_lock_of_another_process_is_waited_for() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    for milliseconds in [100, 1_000] {
        let mut store = open(&path);
        let (let_go, holder) = hold(&path);
        let (done, is_done) = mpsc::channel();
        let writer = thread::spawn(move || {
            store.join(&node(1)).unwrap();
            done.send(()).unwrap();
        });
        // As long as the lock is held the writer waits, and reports nothing.
        let early = is_done.recv_timeout(Duration::from_millis(milliseconds));
        assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout));
        let_go.send(()).unwrap();
        is_done.recv().unwrap();
        writer.join().unwrap();
        holder.join().unwrap();
    }
}

#[test]
fn a_wait_that_is_too_long_says_who_and_how_long() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    let options =
        SqliteOptions { busy_wait: Duration::from_millis(20), read_only: false, durable: true };
    let mut store = SqliteStore::open(&path, options).unwrap();
    let (let_go, holder) = hold(&path);
    let answer = store.join(&node(1));
    assert!(matches!(answer, Err(StoreError::Busy { .. })), "{answer:?}");
    // Questions go on meanwhile.
    assert!(store.dag_keys().unwrap().is_empty());
    let_go.send(()).unwrap();
    holder.join().unwrap();
    store.join(&node(1)).unwrap();
}

#[test]
fn a_long_reader_holds_up_nobody_and_sees_one_moment() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    let mut store = open(&path);
    let mut desk = Desk::open(&mut store);
    desk.create(0);
    let reader = Connection::open(&path).unwrap();
    let count = |reader: &Connection| -> i64 {
        reader.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap()
    };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(&reader), 1);
    for round in 1..50 {
        desk.create(round);
    }
    assert_eq!(count(&reader), 1);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&reader), 50);
}

/// Scenario C23: two clients save at one time, and what they save closes a circle together.
/// A dag with an edge to another is refused before it comes here, until such edges run; the check
/// inside the transaction is there all the same.
#[test]
fn of_two_edges_that_close_a_circle_together_one_wins() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    for round in 0..20 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        let both = [dag(&a, vec![task("x", &[])]), dag(&b, vec![task("x", &[])])];
        open(&path).register(&both, at(0)).unwrap();
        let start = Arc::new(Barrier::new(2));
        let clients = [(&a, &b), (&b, &a)].map(|(mine, other)| {
            let (path, start) = (path.clone(), Arc::clone(&start));
            let closing = dag(mine, vec![task("x", &[&format!("{other}.x")])]);
            thread::spawn(move || {
                let mut store = open(&path);
                start.wait();
                store.register(&[closing], at(1)).map(|_| ())
            })
        });
        let answers = clients.map(|client| client.join().unwrap());
        let won = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(won, 1, "{answers:?}");
        let lost = answers.into_iter().find_map(Result::err).unwrap();
        assert!(
            matches!(&lost, StoreError::Refused(error) if error.0[0].code == "cycle"),
            "{lost:?}"
        );
    }
}

#[test]
fn the_same_definitions_change_no_row() {
    let folder = Folder::new();
    let mut store = open(folder.file("store.db"));
    store.register(&[flights()], at(0)).unwrap();
    let changes = |store: &SqliteStore| store.connection().total_changes();
    let before = changes(&store);
    store.register(&[flights()], at(9)).unwrap();
    store.set_pool("db", 2, at(9)).unwrap();
    assert_eq!(changes(&store), before + 1);
    store.set_pool("db", 2, at(10)).unwrap();
    assert_eq!(changes(&store), before + 1);
}

/// The ids of rows that were deleted are never given again.
#[test]
fn ids_are_not_used_twice() {
    let folder = Folder::new();
    let mut store = open(folder.file("store.db"));
    let mut desk = Desk::open(&mut store);
    desk.create(0);
    let ids = desk.store.next_ids().unwrap();
    store.connection().execute_batch("DELETE FROM run; DELETE FROM task_run;").unwrap();
    assert_eq!(store.next_ids().unwrap(), ids);
}
