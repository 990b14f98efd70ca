//! Probes and gates: attempts that rest, hold nothing, and outlive the process.

use mainspring::engine::{Event, TaskRunRef, Word};
use mainspring::model::{RunId, TaskRunId};
use serde_json::{Value, json};

use super::bench::{Bench, check};

#[test]
fn neither_holds_a_slot_or_stands_in_a_queue() {
    let mut bench = Bench::new("slots=2; a; w : slots=2; p : probe=10000 prio=9; g : gate; b");
    bench.all(&[]);
    let states = "a=RUNNING#1 w=READY#0 p=RUNNING#1 g=RUNNING#1 b=READY#0 run=RUNNING";
    assert_eq!(bench.states(), states);
    assert_eq!(bench.world.pool(None), Some((2, 1)));
    // A pool that holds more than it has lets them in too; one that is closed does not.
    let mut bench = Bench::new("slots=2; a : slots=2; p <- a~ : probe=10000; u; g <- u : gate");
    bench.all(&[]);
    bench.event(&Event::PoolSized { pool: None, slots: 1 });
    bench.all(&["a hung X"]);
    assert_eq!(bench.world.pool(None), Some((1, 2)));
    check("slots=0; p : probe=10000; g : gate", &[], "p=READY#0 g=READY#0 run=RUNNING");
    let mut bench = Bench::new("slots=0; g : gate");
    bench.all(&[]);
    assert!(!bench.world.has_ready(bench.now));
    bench.event(&Event::PoolSized { pool: None, slots: 1 });
    assert!(bench.world.has_ready(bench.now));
}

#[test]
fn an_overfull_pool_lets_in_what_needs_no_slot() {
    let mut bench = Bench::new("slots=2; a; b; c <- a; g <- a : gate");
    bench.all(&[]);
    bench.event(&Event::PoolSized { pool: None, slots: 1 });
    bench.happen("a hung X");
    bench.happen("rerun a");
    // Two slots are held where there is one: what still runs of `a`, and `b`.
    assert_eq!(bench.world.pool(None), Some((1, 2)));
    let mut bench = Bench::new("slots=3; a; b; u; g <- u : gate");
    bench.all(&[]);
    bench.event(&Event::PoolSized { pool: None, slots: 1 });
    bench.happen("u ok");
    assert_eq!(bench.states(), "a=RUNNING#1 b=RUNNING#1 u=SUCCESS#1 g=RUNNING#1 run=RUNNING");
    assert_eq!(bench.world.pool(None), Some((1, 2)));
}

#[test]
fn a_probe_is_one_attempt_that_is_asked_at_its_interval() {
    let mut bench = Bench::new("u; p <- u : probe=10000; d <- p");
    bench.all(&["+3", "u ok", "p no", "+10", "p no", "+10", "p no", "+9"]);
    assert_eq!(bench.called["p"], [3, 13, 23]);
    assert_eq!(bench.states(), "u=SUCCESS#1 p=RUNNING#1 d=PENDING#0 run=RUNNING");
    bench.all(&["+1", "p ok"]);
    assert_eq!(bench.called["p"], [3, 13, 23, 33]);
    assert_eq!(bench.states(), "u=SUCCESS#1 p=SUCCESS#1 d=RUNNING#1 run=RUNNING");
    assert_eq!(bench.started["p"], [3]);
    assert_eq!(bench.rows.attempts.keys().filter(|(id, _)| *id == TaskRunId(2)).count(), 1);
}

#[test]
fn the_record_counts_how_often_it_was_asked() {
    let polls = |bench: &Bench| bench.last.ends.first().unwrap().end.record.polls;
    let mut bench = Bench::new("p : probe=10000");
    bench.all(&["p no", "+10", "p no", "+10"]);
    bench.event(&Event::Cancel { run: RunId(1), only: None, grace_ms: Some(0) });
    assert_eq!(polls(&bench), Some(3));
    let mut bench = Bench::new("p : probe=10000");
    bench.all(&["p no", "+10", "p no"]);
    bench.event(&Event::Cancel { run: RunId(1), only: None, grace_ms: None });
    assert_eq!(polls(&bench), Some(2));
    let mut bench = Bench::new("a");
    bench.all(&[]);
    bench.event(&Event::Cancel { run: RunId(1), only: None, grace_ms: Some(0) });
    assert_eq!(polls(&bench), None);
}

#[test]
fn slow_checks_do_not_shift_the_questions() {
    let mut bench = Bench::new("p : probe=10000");
    bench.all(&["+12", "p no", "+8", "+15", "p no", "+5", "p no"]);
    // Asked at 0 and answered at 12: the next whole interval is 20; answered at 35: 40.
    assert_eq!(bench.called["p"], [0, 20, 40]);
    // Nobody asks a second time while a check runs.
    let mut bench = Bench::new("p : probe=10000");
    bench.all(&["+100"]);
    assert_eq!(bench.called["p"], [0]);
}

#[test]
fn the_timeout_is_of_the_whole_poll_and_ends_it_between_two_questions() {
    let world = "p : probe=10000 timeout=25000";
    let polled = ["p no", "+10", "p no", "+10", "p no"];
    let mut bench = Bench::new(world);
    bench.all(&polled);
    bench.happen("+4");
    assert_eq!(bench.states(), "p=RUNNING#1 run=RUNNING");
    bench.happen("+1");
    assert_eq!(bench.states(), "p=TIMEOUT#1(TIMEOUT) run=FAILED");
    assert_eq!(bench.world.next_wake(), None);
    assert_eq!(bench.world.zombie_count(), 0);
    // A check that runs when the time is over is asked to stop, as any attempt is.
    check(world, &["p no", "+10", "+15"], "p=RUNNING#1 run=RUNNING");
    check(world, &["p no", "+10", "+15", "p no"], "p=TIMEOUT#1(TIMEOUT) run=FAILED");
    check(world, &["p no", "+10", "+16"], "p=TIMEOUT#1(TIMEOUT) run=FAILED");
    // A wait whose time is over is over, whatever its budget for errors.
    let mut bench = Bench::new("p : probe=10000 timeout=15000 max=2 fixed=5000");
    bench.all(&["p no", "+10", "p no", "+5"]);
    assert_eq!(bench.states(), "p=TIMEOUT#1(TIMEOUT) run=FAILED");
    assert_eq!(bench.called["p"], [0, 10]);
    assert_eq!(bench.world.next_wake(), None);
}

#[test]
fn an_exception_of_the_check_fails_the_attempt() {
    let world = "p : probe=10000 max=2 fixed=1000";
    check(world, &["p no", "+10", "p fail X"], "p=RETRY_WAIT#1(X) run=RUNNING");
    let mut bench = Bench::new(world);
    bench.all(&["p no", "+10", "p fail X", "+1", "p no", "+10", "p fail X"]);
    assert_eq!(bench.states(), "p=FAILED#2(X) run=FAILED");
    assert_eq!(bench.called["p"], [0, 10, 11, 21]);
    // An answer of the attempt before is nobody's.
    let mut bench = Bench::new(world);
    bench.all(&["p no", "+10", "p fail X", "+1", "p no#1"]);
    assert_eq!(bench.states(), "p=RUNNING#2 run=RUNNING");
    assert_eq!(bench.world.live_count(), 1);
}

#[test]
fn the_end_of_a_process_ends_neither_and_costs_nothing() {
    let mut bench = Bench::new("p : probe=10000 timeout=100000 losses=0; g : gate timeout=100000");
    bench.all(&["p no", "+15", "crash", "+15", "crash", "+0", "p no", "crash", "+0"]);
    bench.all(&["crash", "+0"]);
    assert_eq!(bench.states(), "p=RUNNING#1 g=RUNNING#1 run=RUNNING");
    let lost: Vec<u32> =
        bench.rows.runs[&RunId(1)].task_runs.values().map(|row| row.progress.losses_used).collect();
    assert_eq!(lost, [0, 0]);
    // Whoever takes over asks at once, and the time that passed has passed.
    assert_eq!(bench.called["p"], [0, 10, 15, 30, 30, 30]);
    let mut other = Bench::new("p : probe=10000 losses=0");
    other.all(&["nodelost", "+0"]);
    assert_eq!(other.called["p"], [0, 0]);
    bench.all(&["p no", "+69"]);
    assert_eq!(bench.states().matches("RUNNING#1").count(), 2);
    bench.happen("+1");
    bench.happen("p no");
    assert_eq!(bench.states(), "p=TIMEOUT#1(TIMEOUT) g=TIMEOUT#1(TIMEOUT) run=FAILED");
}

#[test]
fn a_cancel_ends_what_rests_at_once() {
    check("p : probe=10000", &["p no", "cancel"], "p=CANCELED#1(CANCELED) run=CANCELED");
    check("p : probe=10000", &["cancel"], "p=RUNNING#1 run=RUNNING");
    check("p : probe=10000", &["cancel", "p no"], "p=CANCELED#1(CANCELED) run=CANCELED");
    check("p : probe=10000", &["cancel", "+1", "p no"], "p=CANCELED#1(CANCELED) run=CANCELED");
    let mut bench = Bench::new("p : probe=10000; g : gate");
    bench.all(&["cancel", "+1"]);
    assert_eq!(bench.world.zombie_count(), 1);
    bench.happen("p no");
    assert_eq!(bench.states(), "p=CANCELED#1(CANCELED) g=CANCELED#1(CANCELED) run=CANCELED");
    assert_eq!((bench.world.zombie_count(), bench.world.live_count()), (0, 0));
    // A cancel that a crash cut short is carried out.
    check("p : probe=10000", &["cancel", "crash"], "p=CANCELED#1(CANCELED) run=CANCELED");
}

#[test]
fn a_shutdown_lays_down_what_rests_and_drains_ask_on() {
    let mut bench = Bench::new("p : probe=10000; g : gate");
    bench.all(&["p no", "interrupt"]);
    assert_eq!(bench.states(), "p=RUNNING#1 g=RUNNING#1 run=RUNNING");
    assert_eq!((bench.world.live_count(), bench.world.next_wake()), (0, None));
    bench.all(&["crash", "+0"]);
    assert_eq!(bench.called["p"], [0, 0]);
    assert_eq!(bench.states(), "p=RUNNING#1 g=RUNNING#1 run=RUNNING");
    // A check that runs is interrupted.
    let world = "p : probe=10000; g : gate";
    let end = "p=READY#1(INTERRUPTED) g=RUNNING#1 run=RUNNING";
    check(world, &["interrupt", "p no"], end);
    check(world, &["interrupt", "p fail X", "crash"], "p=RUNNING#2 g=RUNNING#1 run=RUNNING");
    let mut bench = Bench::new(world);
    bench.all(&["p no", "drain", "+10", "p no", "+10"]);
    assert_eq!(bench.called["p"], [0, 10, 20]);
}

#[test]
fn a_gate_waits_for_a_word_and_keeps_whose_it_was() {
    let mut bench = Bench::new("a; g <- a : gate; b <- g");
    bench.all(&["a ok"]);
    assert_eq!(bench.states(), "a=SUCCESS#1 g=RUNNING#1 b=PENDING#0 run=RUNNING");
    assert_eq!((bench.world.live_count(), bench.world.next_wake()), (0, None));
    bench.happen("approve g");
    assert_eq!(bench.states(), "a=SUCCESS#1 g=SUCCESS#1 b=RUNNING#1 run=RUNNING");
    let progress = &bench.world.run(RunId(1)).unwrap().task_run(1).progress;
    let said: Value = serde_json::from_str(progress.result.as_deref().unwrap()).unwrap();
    assert_eq!(said, json!({"by": "ann", "note": "fine", "at": "1970-01-12T13:46:40Z"}));
}

#[test]
fn a_no_is_final_and_blocks() {
    let world = "g : gate max=5 fixed=1000; b <- g";
    let mut bench = Bench::new(world);
    bench.all(&[]);
    bench.happen("reject g");
    assert_eq!(bench.states(), "g=FAILED#1(REJECTED) b=BLOCKED#0(by g) run=FAILED");
    assert_eq!(bench.world.next_wake(), None);
    // Asked anew, a person may say something else.
    bench.all(&["rerun g", "approve g", "b ok"]);
    assert_eq!(bench.states(), "g=SUCCESS#2 b=SUCCESS#1 run=SUCCESS");
    // Nobody comes.
    let late = "g : gate timeout=10000 max=5; b <- g";
    check(late, &["+10"], "g=TIMEOUT#1(TIMEOUT) b=BLOCKED#0(by g) run=FAILED");
    check(late, &["+9", "approve g", "+10"], "g=SUCCESS#1 b=RUNNING#1 run=RUNNING");
}

#[test]
fn the_record_says_who_said_no() {
    let mut bench = Bench::new("g : gate");
    bench.all(&["+4"]);
    let word = Word {
        at: TaskRunRef { run: RunId(1), index: 0 },
        reject: true,
        note: Some("too many rows".into()),
        by: Some("ann@desk".into()),
    };
    bench.event(&Event::Approve(word));
    let record = &bench.last.ends[0].end.record;
    assert_eq!(record.error.as_deref(), Some("rejected by ann@desk: too many rows"));
    assert_eq!(record.error_code.as_deref(), Some("REJECTED"));
    assert_eq!(record.duration_ms, 4_000);
}

#[test]
fn a_word_counts_only_where_it_is_awaited() {
    let refused = |world: &str, events: &[&str]| {
        let mut bench = Bench::new(world);
        bench.all(events);
        bench.refused().to_owned()
    };
    let world = "a; g <- a : gate";
    assert_eq!(
        refused(world, &["approve g"]),
        "nobody's word is awaited: g of run 1 is PENDING: waits for a (RUNNING)"
    );
    assert_eq!(
        refused(world, &["a ok", "approve g", "reject g"]),
        "nobody's word is awaited: g of run 1 is SUCCESS: ended at 1970-01-12T13:46:40Z"
    );
    assert_eq!(
        refused(world, &["a ok", "reject g", "approve g"]),
        "nobody's word is awaited: g of run 1 is FAILED: ended at 1970-01-12T13:46:40Z with \
         REJECTED"
    );
    assert_eq!(refused(world, &["approve a"]), "run 1: a is no gate\n  hint: its gates are g");
    assert_eq!(refused("a", &["approve a"]), "run 1: a is no gate\n  hint: the run has no gate");
}

#[test]
fn a_note_is_kept_up_to_a_length() {
    let mut bench = Bench::new("g : gate");
    bench.all(&[]);
    let say = |bench: &mut Bench, length: usize| {
        bench.event(&Event::Approve(Word {
            at: TaskRunRef { run: RunId(1), index: 0 },
            reject: false,
            note: Some("é".repeat(length)),
            by: None,
        }));
    };
    say(&mut bench, 10_001);
    assert_eq!(bench.refused(), "the note has 10001 characters, at most 10000 fit");
    assert_eq!(bench.states(), "g=RUNNING#1 run=RUNNING");
    say(&mut bench, 10_000);
    assert_eq!(bench.states(), "g=SUCCESS#1 run=SUCCESS");
}

#[test]
fn explain_says_how_they_wait() {
    let why = |world: &str, events: &[&str], task: &str| {
        let mut bench = Bench::new(world);
        bench.all(events);
        bench.why(task)
    };
    assert_eq!(
        why("g : gate timeout=60000", &[], "g"),
        "g of run 1 is RUNNING: waits for a person since 1970-01-12T13:46:40Z, its time is over \
         at 1970-01-12T13:47:40Z, say it with `mainspring approve 1 g`"
    );
    assert_eq!(
        why("slots=0; g : gate", &[], "g"),
        "g of run 1 is READY: in the queue of the default pool behind 0, wants 0, 0 of 0 slots are \
         held"
    );
    assert_eq!(
        why("p : probe=10000", &["p no", "+10", "p no"], "p"),
        "p of run 1 is RUNNING: attempt 1 runs since 1970-01-12T13:46:40Z; polled 2 times, next \
         at 1970-01-12T13:47:00Z"
    );
    assert_eq!(
        why("p : probe=10000", &["p no", "+10"], "p"),
        "p of run 1 is RUNNING: attempt 1 runs since 1970-01-12T13:46:40Z; polled 1 time, being \
         polled now"
    );
}
