//! Every pair of the core transactions on two connections: one of them is stopped before each of
//! its statements, and the other begins meanwhile. The end is one of the two serial ones, with the
//! answers that belong to it, and nobody is told of a deadlock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mainspring::model::{Ask, NodeId, ScopeLease};
use mainspring::store::{
    NextIds, PostgresStore, RegisteredDag, SqlStore as _, SqlValue, Store as _,
};

use super::proxy::{Cut, Proxy};
use crate::postgres::{reopen, server};
use crate::store::support::{Desk, at, dag, flights, new_run, node, task};

/// What both know before they begin.
#[derive(Clone)]
struct Known {
    lease: ScopeLease,
    other: ScopeLease,
    dag: RegisteredDag,
    ids: NextIds,
}

type Act = fn(&mut PostgresStore, &Known) -> String;

fn said<T: std::fmt::Debug, E: std::fmt::Display>(answer: Result<T, E>) -> String {
    answer.map_or_else(|error| error.to_string(), |_| "done".to_owned())
}

/// Makes a run, by ids that were read before.
fn create(store: &mut PostgresStore, known: &Known) -> String {
    let desk = Desk { store, lease: known.lease, dag: known.dag.clone() };
    let run = new_run(&known.dag, known.lease, known.ids, 60);
    let mut batch = desk.batch();
    batch.expected = Some(known.ids);
    batch.created.push(run);
    said(desk.store.commit(&batch))
}

/// Begins an attempt in a pool that has room for one.
fn start(store: &mut PostgresStore, known: &Known) -> String {
    attempt(store, known, 0)
}

fn start_another(store: &mut PostgresStore, known: &Known) -> String {
    attempt(store, known, 1)
}

fn attempt(store: &mut PostgresStore, known: &Known, index: usize) -> String {
    let first = NextIds { run: 1, task_run: 1 };
    let mut run = new_run(&known.dag, known.lease, first, 0);
    let desk = Desk { store, lease: known.lease, dag: known.dag.clone() };
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, index, 1);
    batch.starts[0].pool = Some("lane".into());
    said(desk.store.commit(&batch))
}

/// A process takes the scope away from its holder.
fn take(store: &mut PostgresStore, known: &Known) -> String {
    let run = mainspring::model::RunId(1);
    said(store.take_over(run, known.lease.scope_id, known.other, at(2)))
}

fn beat(store: &mut PostgresStore, known: &Known) -> String {
    said(store.heartbeat(known.lease, at(3), at(18)))
}

/// Content of the dag changes.
fn register(store: &mut PostgresStore, _: &Known) -> String {
    let mut changed = flights();
    changed.tasks[0].doc = Some("another".into());
    said(store.register(&[changed, dag("second", vec![task("x", &["flights.load"])])], at(4)))
}

fn lead(store: &mut PostgresStore, known: &Known) -> String {
    said(store.lead("main", NodeId(known.other.node_id.0), None, at(5)))
}

fn request(store: &mut PostgresStore, known: &Known) -> String {
    said(store.put_request(
        known.lease.scope_id,
        &Ask::Cancel { run: mainspring::model::RunId(1), tasks: None, grace_ms: None },
        None,
        at(6),
    ))
}

const ACTS: &[(&str, Act)] = &[
    ("create", create),
    ("start", start),
    ("start another", start_another),
    ("take", take),
    ("beat", beat),
    ("register", register),
    ("lead", lead),
    ("request", request),
];

const SCHEMA: &str = "pairs";

fn prepare() -> Known {
    let mut store = reopen(&server().url(SCHEMA));
    let mut desk = Desk::open(&mut store);
    desk.create(0);
    let other = desk.store.join(&node(2)).unwrap();
    desk.store.set_pool("lane", 1, at(0)).unwrap();
    let ids = desk.store.next_ids().unwrap();
    let known = Known { lease: desk.lease, other, dag: desk.dag.clone(), ids };
    for_each(
        "CREATE SCHEMA kept; CREATE TABLE kept.numbers AS SELECT sequencename AS name, last_value \
         FROM pg_sequences WHERE schemaname = 'pairs'",
        "CREATE TABLE kept.%1$I AS SELECT * FROM pairs.%1$I",
    );
    known
}

/// A statement, and one for each table.
fn for_each(first: &str, text: &str) {
    let text = format!(
        "{first}; DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE \
         relnamespace = 'pairs'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition LOOP \
         EXECUTE format('{text}', t); END LOOP; END $$"
    );
    server().psql("test", &text);
}

/// Makes everything what it was.
fn reset() {
    for_each(
        "SELECT setval(format('pairs.%I', name)::regclass, coalesce(last_value, 1), last_value IS \
         NOT NULL) FROM kept.numbers",
        "DELETE FROM pairs.%1$I; INSERT INTO pairs.%1$I SELECT * FROM kept.%1$I",
    );
}

/// A question for every row of every table.
fn question() -> String {
    let text = "SELECT string_agg(format('SELECT %L AS name, (SELECT string_agg(t::text, E''\\n'' \
                ORDER BY t::text) FROM pairs.%I AS t) AS rows', relname, relname), ' UNION ALL ') \
                FROM pg_class WHERE relnamespace = 'pairs'::regnamespace AND relkind IN ('r', 'p') \
                AND NOT relispartition";
    format!("{} ORDER BY 1", server().psql("test", text))
}

/// The answers of both, and all rows at the end.
type End = (String, String, String);

fn one_after_the_other(stores: &mut Stores, known: &Known, acts: [Act; 2], swapped: bool) -> End {
    reset();
    let mut answers = [String::new(), String::new()];
    for which in if swapped { [1, 0] } else { [0, 1] } {
        answers[which] = acts[which](&mut stores.both[which], known);
    }
    let [first, second] = answers;
    (first, second, stores.rows())
}

/// Two connections, the first by way of the proxy.
struct Stores {
    proxy: Proxy,
    both: [PostgresStore; 2],
    /// For whoever looks on.
    third: PostgresStore,
    question: String,
}

impl Stores {
    fn rows(&mut self) -> String {
        format!("{:#?}", self.third.ask(&self.question, &[]).unwrap().rows)
    }
}

/// The first is stopped before its n-th statement; none if it has fewer.
fn one_in_the_other(stores: &mut Stores, known: &Known, acts: [Act; 2], nth: u64) -> Option<End> {
    reset();
    let Stores { proxy, both: [first, second], third, .. } = stores;
    proxy.cut(nth, Cut::Bar);
    let (ended, second_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = \
                 'pairs.mainspring'::regclass";
    let none = [SqlValue::Integer(0)];
    let (mut answers, mut met) = ((String::new(), String::new()), false);
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            let answer = acts[0](first, known);
            ended.store(true, Ordering::SeqCst);
            answer
        });
        met = proxy.wait_for_bar(|| ended.load(Ordering::SeqCst));
        let other = scope.spawn(|| {
            let answer = acts[1](second, known);
            second_ended.store(true, Ordering::SeqCst);
            answer
        });
        // It has ended, or waits for the first.
        while met
            && !second_ended.load(Ordering::SeqCst)
            && third.ask(waits, &[]).unwrap().rows[0] == none
        {
            std::thread::yield_now();
        }
        proxy.go_on();
        answers = (one.join().unwrap(), other.join().unwrap());
    });
    met.then(|| (answers.0, answers.1, stores.rows()))
}

#[test]
fn pairs_of_transactions_end_as_if_one_came_after_the_other() {
    let known = prepare();
    let proxy = Proxy::start();
    let both = [reopen(&proxy.url("test", SCHEMA)), reopen(&server().url(SCHEMA))];
    let third = reopen(&server().url(SCHEMA));
    let mut stores = Stores { proxy, both, third, question: question() };
    let mut met: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    // All of them in the long run of `make`; here every sixth.
    let all = std::env::var_os("MAINSPRING_EVERY_STATEMENT").is_some();
    for (first, one) in ACTS {
        for (second, other) in ACTS {
            let serial = [false, true]
                .map(|swapped| one_after_the_other(&mut stores, &known, [*one, *other], swapped));
            let step = if all { 1 } else { 6 };
            for nth in (1..).step_by(step) {
                let Some(end) = one_in_the_other(&mut stores, &known, [*one, *other], nth) else {
                    break;
                };
                *met.entry((first, second)).or_default() += 1;
                assert!(
                    serial.contains(&end),
                    "{first} was stopped before its statement {nth} while {second} came: {end:#?}\n\
                     and not one of {serial:#?}"
                );
            }
        }
    }
    assert_eq!(met.len(), ACTS.len() * ACTS.len(), "{met:?}");
}
