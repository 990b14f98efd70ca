//! Cancel, timeout, shutdown: stops and what holds a slot.

use super::bench::{Bench, check};

#[test]
fn a_cancel_is_final_whatever_is_reported() {
    let world = "a : max=5; b <- a";
    check(world, &["cancel"], "a=RUNNING#1 b=CANCELED#0(CANCELED) run=RUNNING");
    let end = "a=CANCELED#1(CANCELED) b=CANCELED#0(CANCELED) run=CANCELED";
    check(world, &["cancel", "a ok"], end);
    check(world, &["cancel", "a fail X"], end);
    check(world, &["cancel", "a lost"], end);
    check(world, &["cancel", "nodelost"], end);
    check(world, &["cancel", "crash"], end);
    check(world, &["cancel", "+1", "a ok"], end);
    check(world, &["kill", "a ok"], end);
    // Also where something had failed before.
    check(
        "a; b",
        &["a fail X", "cancel", "b ok"],
        "a=FAILED#1(X) b=CANCELED#1(CANCELED) run=CANCELED",
    );
    check(world, &["a ok", "b ok", "cancel"], "a=SUCCESS#1 b=SUCCESS#1 run=SUCCESS");
}

#[test]
fn one_task_run_can_be_canceled_alone() {
    check(
        "a : max=5; b <- a; c",
        &["cancel a", "a ok", "c ok"],
        "a=CANCELED#1(CANCELED) b=BLOCKED#0(by a) c=SUCCESS#1 run=CANCELED",
    );
    check(
        "a : max=2; b",
        &["a fail X", "cancel a", "+99", "b ok"],
        "a=CANCELED#1(CANCELED) b=SUCCESS#1 run=CANCELED",
    );
}

/// Scenario A06: what is canceled in the queue was never tried, and is not retried.
#[test]
fn cancel_of_the_queued_is_no_failure() {
    let names: Vec<String> = (0..20).map(|n| format!("t{n} : max=5 pool=p")).collect();
    let mut bench = Bench::new(&names.join(";"));
    bench.event(&mainspring::engine::Event::PoolSized { pool: Some("p".into()), slots: 1 });
    bench.all(&["+5"]);
    for n in 1..20 {
        bench.happen(&format!("cancel t{n}"));
    }
    bench.all(&["t0 ok", "+600"]);
    assert_eq!(bench.states().matches("CANCELED#0").count(), 19);
    assert_eq!(bench.states().matches("SUCCESS#1").count(), 1);
    assert_eq!(bench.rows.attempts.len(), 1);
    assert_eq!(bench.world.next_wake(), None);
}

#[test]
fn out_of_time_it_is_asked_and_then_given_up_but_keeps_its_slot() {
    let world = "slots=1; a : timeout=10000 max=2 fixed=1000; b : prio=9";
    check(world, &["+10"], "a=RUNNING#1 b=READY#0 run=RUNNING");
    let given_up = "a=RETRY_WAIT#1(TIMEOUT) b=READY#0 run=RUNNING";
    check(world, &["+11"], given_up);
    check(world, &["+99"], given_up);
    check(world, &["+99", "a released"], "a=RUNNING#2 b=READY#0 run=RUNNING");
    // The report of the attempt that was given up is late, and gives back the slot.
    check(world, &["+99", "a ok"], "a=RUNNING#2 b=READY#0 run=RUNNING");
    check(world, &["+10", "a ok"], "a=RETRY_WAIT#1(TIMEOUT) b=RUNNING#1 run=RUNNING");
    check(world, &["+99", "crash"], "a=RUNNING#2 b=READY#0 run=RUNNING");
}

#[test]
fn a_thread_that_still_runs_holds_its_slot_and_the_retry() {
    let world = "slots=1; a : max=2 fixed=1000; b : prio=9";
    check(world, &["a hung X", "+5"], "a=RETRY_WAIT#1(X) b=READY#0 run=RUNNING");
    check(world, &["a hung X", "+5", "a released"], "a=RUNNING#2 b=READY#0 run=RUNNING");
    check(world, &["a hung X", "a released"], "a=RETRY_WAIT#1(X) b=RUNNING#1 run=RUNNING");
    check("a; b", &["a hung X", "b ok", "rerun a"], "a=PENDING#1 b=SUCCESS#1 run=RUNNING");
    check(
        "a; b",
        &["a hung X", "b ok", "rerun a", "a released"],
        "a=RUNNING#2 b=SUCCESS#1 run=RUNNING",
    );
}

#[test]
fn a_shutdown_spends_no_budget_and_starts_nothing() {
    let world = "slots=1; a; b";
    check(world, &["interrupt"], "a=RUNNING#1 b=READY#0 run=RUNNING");
    check(world, &["interrupt", "a fail X"], "a=READY#1(INTERRUPTED) b=READY#0 run=RUNNING");
    check(world, &["interrupt", "a fail X", "crash"], "a=RUNNING#2 b=READY#0 run=RUNNING");
    check(world, &["interrupt", "+1"], "a=READY#1(INTERRUPTED) b=READY#0 run=RUNNING");
    check(world, &["interrupt", "crash"], "a=RUNNING#2 b=READY#0 run=RUNNING");
    // What was done within the grace is done.
    check(world, &["interrupt", "a ok"], "a=SUCCESS#1 b=READY#0 run=RUNNING");
    check("a", &["interrupt", "cancel", "a ok"], "a=CANCELED#1(CANCELED) run=CANCELED");
}
