//! The connection is lost at every statement of a story, before the server hears of it or after it
//! has carried it out. Nothing is lost and nothing is done twice.

use mainspring::model::{Ask, RunId};
use mainspring::store::{Batch, CommitError, RunFilter, Store, StoreError};

use super::proxy::{Cut, Proxy};
use crate::postgres::{fresh, options, reopen, server};
use crate::store::support::{Desk, at, flights, new_run, node};

/// As the driver does it: what failed on its way is looked for, and written if it is not there.
fn commit(store: &mut dyn Store, batch: &Batch) {
    loop {
        match store.commit(batch) {
            Ok(()) => return,
            Err(CommitError::Store(StoreError::Away { .. })) => {}
            Err(error) => panic!("{error}"),
        }
        let (run, packed) = batch.journal.first().unwrap();
        if store.journal(*run).is_ok_and(|rows| rows.last() == Some(packed)) {
            return;
        }
    }
}

/// Whatever is refused because the connection was lost has not been done.
fn again<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(StoreError::Away { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A process joins, registers, makes a run, asks for its end, and drives a task through it.
fn story(store: &mut dyn Store) {
    let lease = again(|| store.join(&node(1)));
    let dag = again(|| store.register(&[flights()], at(0))).remove(0);
    let ids = again(|| store.next_ids());
    let mut run = new_run(&dag, lease, ids, 0);
    let mut batch = Batch::new(lease, at(1));
    batch.expected = Some(ids);
    batch.created.push(run.clone());
    batch.journal.push((run.row.id, b"made".to_vec()));
    commit(store, &batch);
    again(|| {
        store.put_request(
            lease.scope_id,
            &Ask::Cancel { run: run.row.id, tasks: None, grace_ms: None },
            Some("me"),
            at(2),
        )
    });
    let desk = Desk { store, lease, dag };
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 3);
    commit(desk.store, &batch);
    let mut batch = desk.batch();
    desk.end(&mut batch, &mut run, 0, 4);
    commit(desk.store, &batch);
    again(|| match desk.store.heartbeat(lease, at(5), at(20)) {
        Ok(()) => Ok(()),
        Err(CommitError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    });
    again(|| desk.store.set_pool("lanes", 3, at(6)));
    again(|| desk.store.enable("flights.load", false, None, at(7)));
    again(|| desk.store.leave(lease, at(8)));
}

/// What is in the tables that the story writes, without numbers that a lost transaction uses up.
fn remains(schema: &str) -> String {
    let text = "SET search_path = {s}; \
        SELECT 'node', host, pid, stopped_at FROM node ORDER BY 2, 3; \
        SELECT 'dag', key, revision FROM dag; \
        SELECT 'version', version FROM task_version ORDER BY 2; \
        SELECT 'request', kind, requested_by FROM request; \
        SELECT 'run', id, state FROM run; \
        SELECT 'task run', id, state, revision, attempt_no, result FROM task_run ORDER BY 2; \
        SELECT 'attempt', id, task_run_id, outcome FROM attempt; \
        SELECT 'lease', count(*) FROM attempt_lease; \
        SELECT 'journal', run_id, length(entries) FROM journal ORDER BY journal.id; \
        SELECT 'pool', name, slots FROM pool; \
        SELECT 'task', key, enabled FROM task ORDER BY 2; \
        SELECT 'sequence', run, task_run, attempt FROM sequence";
    server().psql("test", &text.replace("{s}", schema))
}

#[test]
fn a_connection_lost_at_any_statement_loses_and_doubles_nothing() {
    let proxy = Proxy::start();
    let told = |nth: u64, cut: Cut| {
        let schema = fresh();
        // The schema is made on the direct way; what is lost is on the other.
        drop(reopen(&server().url(&schema)));
        let mut store = reopen(&proxy.url("test", &schema));
        proxy.cut(nth, cut);
        story(&mut store);
        let seen = proxy.seen();
        assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), 1);
        (remains(&schema), seen)
    };
    let (undisturbed, statements) = told(u64::MAX, Cut::Before);
    assert!(statements > 100, "{statements}");
    // Every statement is met in the long run of `make`; here a slice of them.
    let step = if std::env::var_os("MAINSPRING_EVERY_STATEMENT").is_some() { 1 } else { 5 };
    for cut in [Cut::Before, Cut::After] {
        for nth in (1..=statements).step_by(step) {
            let (remains, _) = told(nth, cut);
            assert_eq!(remains, undisturbed, "statement {nth} {cut:?}");
        }
    }
}

#[test]
fn a_server_that_is_away_is_said_to_be_and_found_again() {
    let (proxy, schema) = (Proxy::start(), fresh());
    drop(reopen(&server().url(&schema)));
    let mut store = reopen(&proxy.url("test", &schema));
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 1);
    proxy.cut(1, Cut::Before);
    proxy.close(true);
    for _ in 0..2 {
        let error = desk.store.commit(&batch).unwrap_err();
        let CommitError::Store(error @ StoreError::Away { .. }) = error else { panic!("{error}") };
        assert!(error.to_string().contains("is away"), "{error}");
    }
    proxy.close(false);
    desk.store.commit(&batch).unwrap();
    assert_eq!(desk.store.verify().unwrap(), []);
}

#[test]
fn who_lost_an_answer_waits_until_its_transaction_has_ended() {
    // A transaction that holds the lock of those who write, and whose client is gone.
    let schema = fresh();
    let mut store = reopen(&server().url(&schema));
    let mut desk = Desk::open(&mut store);
    let run = desk.create(0);
    let waiting = mainspring::store::PostgresOptions {
        busy_wait: std::time::Duration::from_millis(200),
        ..options()
    };
    let url = server().url(&schema);
    let mut other = mainspring::store::PostgresStore::open(&url, waiting).unwrap();
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let text = format!(
                "BEGIN; LOCK TABLE {schema}.mainspring IN EXCLUSIVE MODE; SELECT pg_sleep(2)"
            );
            server().psql("test", &text)
        });
        let is_held = format!(
            "SELECT count(*) FROM pg_locks WHERE relation = '{schema}.mainspring'::regclass AND \
             mode = 'ExclusiveLock' AND granted"
        );
        while server().psql("test", &is_held) == "0" {}
        // Who reads waits for nobody; who writes says that somebody else does.
        assert_eq!(other.stored_run(RunId(run.row.id.0)).unwrap().unwrap().row, run.row);
        let error = other.set_pool("lanes", 1, at(1)).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        holder.join().unwrap();
    });
    other.set_pool("lanes", 1, at(1)).unwrap();
}
