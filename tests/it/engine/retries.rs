//! Ends of attempts: retries, budgets, losses, fences.

use super::bench::{Bench, check};

#[test]
fn the_plain_way() {
    check("a; b <- a", &[], "a=RUNNING#1 b=PENDING#0 run=RUNNING");
    check("a; b <- a", &["a ok"], "a=SUCCESS#1 b=RUNNING#1 run=RUNNING");
    check("a; b <- a", &["a ok", "b ok"], "a=SUCCESS#1 b=SUCCESS#1 run=SUCCESS");
    check("", &[], "run=SUCCESS");
}

#[test]
fn a_failure_is_retried_after_its_delay_while_there_is_budget() {
    let world = "a : max=2 fixed=5000";
    check(world, &["a fail X"], "a=RETRY_WAIT#1(X) run=RUNNING");
    check(world, &["a fail X", "+4"], "a=RETRY_WAIT#1(X) run=RUNNING");
    check(world, &["a fail X", "+5"], "a=RUNNING#2 run=RUNNING");
    check(world, &["a fail X", "+5", "a fail Y"], "a=FAILED#2(Y) run=FAILED");
    check(world, &["a fail X", "+5", "a ok"], "a=SUCCESS#2 run=SUCCESS");
    check("a : max=2 fixed=0", &["a fail"], "a=RUNNING#2 run=RUNNING");
}

#[test]
fn retry_on_chooses_by_code() {
    let listed = "a : max=3 on=CONN_RESET,EXIT_7";
    check(listed, &["a fail EXIT_7"], "a=RETRY_WAIT#1(EXIT_7) run=RUNNING");
    check(listed, &["a fail EXIT_8"], "a=FAILED#1(EXIT_8) run=FAILED");
    check(listed, &["a timeout"], "a=TIMEOUT#1(TIMEOUT) run=FAILED");
    check("a : max=3 on=ERROR", &["a fail Z"], "a=RETRY_WAIT#1(Z) run=RUNNING");
    check("a : max=3 on=ERROR", &["a timeout"], "a=TIMEOUT#1(TIMEOUT) run=FAILED");
    check("a : max=3 on=TIMEOUT", &["a timeout"], "a=RETRY_WAIT#1(TIMEOUT) run=RUNNING");
    check("a : max=3", &["a fail RESULT"], "a=FAILED#1(RESULT) run=FAILED");
}

#[test]
fn a_task_that_must_not_repeat_ends_at_its_first_failure() {
    check("a : once max=3", &["a fail"], "a=FAILED#1(ERROR) run=FAILED");
    check("a : once max=3 dedup", &["a fail"], "a=RETRY_WAIT#1(ERROR) run=RUNNING");
    check("a : once", &["a lost"], "a=FAILED#1(LOST) run=FAILED");
    check("a : once", &["interrupt", "a fail"], "a=FAILED#1(INTERRUPTED) run=FAILED");
}

#[test]
fn losses_have_a_budget_of_their_own() {
    // Two attempts may be lost, and the second ends it; the one that may fail is untouched.
    let world = "a : max=1 losses=2 fixed=1000 on=X";
    check(world, &["a lost"], "a=RUNNING#2 run=RUNNING");
    check(world, &["a lost", "a lost"], "a=FAILED#2(LOST) run=FAILED");
    let patient = "a : max=1 losses=3 fixed=1000";
    check(patient, &["a lost", "a lost"], "a=RETRY_WAIT#2(LOST) run=RUNNING");
    check(patient, &["a lost", "a lost", "+1"], "a=RUNNING#3 run=RUNNING");
    check(world, &["nodelost", "+1"], "a=RUNNING#2 run=RUNNING");
    check(world, &["crash", "+1", "a fail X"], "a=FAILED#2(X) run=FAILED");
}

#[test]
fn only_the_current_live_attempt_is_believed() {
    let world = "a : max=3 fixed=1000";
    check(world, &["a fail X", "a ok#1"], "a=RETRY_WAIT#1(X) run=RUNNING");
    check(world, &["a fail X", "+1", "a ok#1"], "a=RUNNING#2 run=RUNNING");
    check(world, &["a ok", "a fail#1 X"], "a=SUCCESS#1 run=SUCCESS");
    let mut bench = Bench::new(world);
    bench.all(&["a fail X", "+1"]);
    bench.happen("a ok#1");
    let states = bench.states();
    bench.event(&mainspring::engine::Event::Tick);
    assert_eq!(bench.states(), states);
    assert_eq!(bench.rows.runs.values().next().unwrap().journal.len(), 5 + 1);
}

/// Scenario A01: the limit is of each attempt, whether it is retried is another matter.
#[test]
fn timeout_and_retry_are_two_things() {
    let mut bench = Bench::new("l : timeout=10000 max=3 fixed=5000 on=TIMEOUT");
    bench.all(&["+10", "l timeout", "+15", "l timeout", "+15", "l timeout", "+60"]);
    assert_eq!(bench.started["l"], [0, 15, 30]);
    assert_eq!(bench.states(), "l=TIMEOUT#3(TIMEOUT) run=FAILED");
    check(
        "l : timeout=10000 max=3 fixed=5000 on=CONN_RESET",
        &["+10", "l timeout", "+60"],
        "l=TIMEOUT#1(TIMEOUT) run=FAILED",
    );
    let mut bench = Bench::new("l : timeout=0 max=3");
    bench.all(&["+60", "l ok"]);
    assert_eq!(bench.states(), "l=SUCCESS#1 run=SUCCESS");
    assert_eq!(bench.world.next_wake(), None);
}

/// Scenario A03: the budget is data; a restart keeps it and a rerun renews it once.
#[test]
fn budget_survives_a_restart_and_is_renewed_by_a_rerun() {
    let mut bench = Bench::new("a : max=3 fixed=2000");
    bench.all(&["a fail X", "crash", "+2", "a fail X", "+2", "a fail X", "+60"]);
    assert_eq!(bench.states(), "a=FAILED#3(X) run=FAILED");
    bench.all(&["crash", "rerun failed", "a fail X", "+2", "a fail X", "+2", "a fail X", "+60"]);
    assert_eq!(bench.states(), "a=FAILED#6(X) run=FAILED");
    assert_eq!(bench.rows.attempts.len(), 6);
    assert_eq!(bench.world.next_wake(), None);
}

/// Scenario A04: five thousand attempts, and delays that stop growing.
#[test]
fn delays_stop_growing() {
    let mut bench = Bench::new("a : max=5000 exp=1000; h");
    bench.event(&mainspring::engine::Event::Dispatch);
    for _ in 1..5000 {
        bench.happen("a fail X");
        bench.happen("+3600");
        let wake = bench.world.next_wake();
        assert_eq!(wake, None);
    }
    bench.happen("a fail X");
    assert_eq!(bench.states(), "a=FAILED#5000(X) h=RUNNING#1 run=RUNNING");

    let mut bench = Bench::new("a : max=5000 exp=1000");
    bench.event(&mainspring::engine::Event::Dispatch);
    let mut delays = Vec::new();
    for _ in 1..16 {
        bench.happen("a fail X");
        delays.push((bench.world.next_wake().unwrap() - bench.now) / 1_000_000);
        bench.happen("+3600");
    }
    let doubled: Vec<i64> = (0..12).map(|n| 1 << n).chain([3600; 3]).collect();
    assert_eq!(delays, doubled);
}

#[test]
fn no_retries_unasked_where_an_author_watches() {
    check("a : default", &["a fail X"], "a=RETRY_WAIT#1(X) run=RUNNING");
    let mut bench = Bench::with("a : default", |new| new.interactive = true);
    bench.all(&["a fail X"]);
    assert_eq!(bench.states(), "a=FAILED#1(X) run=FAILED");
}
