//! Edges: who waits, who is blocked by whom, and what a rerun mends.

use super::bench::{Bench, check};

#[test]
fn a_failure_blocks_all_below_it_and_is_named() {
    let world = "a; b <- a; c <- b; d <- c?; e <- a~";
    check(
        world,
        &["a fail X", "e ok"],
        // BLOCKED is not final: whoever takes any end waits for it.
        "a=FAILED#1(X) b=BLOCKED#0(by a) c=BLOCKED#0(by a) d=PENDING#0 e=SUCCESS#1 run=FAILED",
    );
    check(
        world,
        &["a fail X", "e ok", "rerun failed"],
        "a=RUNNING#2 b=PENDING#0 c=PENDING#0 d=PENDING#0 e=SUCCESS#1* run=RUNNING",
    );
    check("a; b <- a?", &["a fail X"], "a=FAILED#1(X) b=RUNNING#1 run=RUNNING");
    check("a; b <- a?", &["a fail X", "b ok"], "a=FAILED#1(X) b=SUCCESS#1 run=FAILED");
}

#[test]
fn a_second_failure_goes_on_blocking_when_the_first_is_mended() {
    let world = "a; b; c <- a b; d <- c";
    let both = ["a fail X", "b fail Y"];
    let blocked = "a=FAILED#1(X) b=FAILED#1(Y) c=BLOCKED#0(by a) d=BLOCKED#0(by a) run=FAILED";
    check(world, &both, blocked);
    let mut bench = Bench::new(world);
    bench.all(&both);
    bench.happen("rerun a");
    let by_b = "a=RUNNING#2 b=FAILED#1(Y) c=BLOCKED#0(by b) d=BLOCKED#0(by b) run=RUNNING";
    assert_eq!(bench.states(), by_b);
    bench.all(&["rerun b", "a ok", "b ok", "c ok", "d ok"]);
    assert_eq!(bench.states(), "a=SUCCESS#2 b=SUCCESS#2 c=SUCCESS#1 d=SUCCESS#1 run=SUCCESS");
}

#[test]
fn the_middle_canceled_becomes_the_cause() {
    check(
        "a; b <- a; c <- b; d <- c",
        &["a fail X", "cancel b"],
        "a=FAILED#1(X) b=CANCELED#0(CANCELED) c=BLOCKED#0(by b) d=BLOCKED#0(by b) run=FAILED",
    );
    check(
        "a; b <- a; c <- b; d <- c",
        &["a fail X", "cancel b", "rerun a", "a ok"],
        "a=SUCCESS#2 b=CANCELED#0(CANCELED)* c=BLOCKED#0(by b) d=BLOCKED#0(by b) run=CANCELED",
    );
}

/// Seed 7466 of the simulator: the edge through which the cause came holds now, another does not.
#[test]
fn a_cause_that_no_longer_reaches_gives_way() {
    check(
        "a; u <- a; v; d <- u? v",
        &["a fail X", "v fail Y", "cancel u"],
        "a=FAILED#1(X) u=CANCELED#0(CANCELED) v=FAILED#1(Y) d=BLOCKED#0(by v) run=FAILED",
    );
}

#[test]
fn a_rerun_takes_back_what_has_not_started_and_marks_what_has() {
    let world = "slots=1; a; b <- a : prio=1; c <- a : max=2; d <- c";
    check(
        world,
        &["a ok", "b ok", "c fail X", "rerun a"],
        "a=RUNNING#2 b=SUCCESS#1* c=PENDING#1(X) d=PENDING#0 run=RUNNING",
    );
    check(
        "slots=1; a : prio=1; x; b <- a",
        &["a ok", "rerun a"],
        "a=READY#1 x=RUNNING#1 b=PENDING#0 run=RUNNING",
    );
    // The delay of the retry is kept over the repetition of its upstream.
    check(
        world,
        &["a ok", "b ok", "c fail X", "rerun a", "a ok"],
        "a=SUCCESS#2 b=SUCCESS#1* c=PENDING#1(X) d=PENDING#0 run=RUNNING",
    );
    check(
        world,
        &["a ok", "b ok", "c fail X", "rerun a", "a ok", "+10"],
        "a=SUCCESS#2 b=SUCCESS#1* c=RUNNING#2 d=PENDING#0 run=RUNNING",
    );
    // What runs meanwhile is stale when it succeeds.
    check("a; b <- a", &["a ok", "rerun a", "b ok"], "a=RUNNING#2 b=SUCCESS#1* run=RUNNING");
    check(
        "a; b <- a : max=2 fixed=0",
        &["a ok", "rerun a", "b fail X"],
        "a=RUNNING#2 b=PENDING#1(X) run=RUNNING",
    );
    check(
        "a; b <- a : max=2",
        &["a ok", "rerun a", "a fail Y", "b fail X"],
        "a=FAILED#2(Y) b=BLOCKED#1(by a) run=FAILED",
    );
}

#[test]
fn a_rerun_is_of_what_is_final() {
    let mut bench = Bench::new("a; b <- a");
    bench.all(&["rerun a"]);
    let text = "run 1: only what has ended can be run again, but a is RUNNING";
    assert_eq!(bench.refused(), text);
    bench.happen("rerun failed");
    assert_eq!(bench.refused(), "run 1 has nothing that failed, timed out or was canceled");
    bench.all(&["a ok", "rerun a+"]);
    assert!(bench.refused().ends_with("b is RUNNING"));
    bench.all(&["b ok", "rerun a+"]);
    assert_eq!(bench.states(), "a=RUNNING#2 b=PENDING#1 run=RUNNING");
}

#[test]
fn a_rerun_takes_the_cancel_back() {
    check(
        "a; b <- a",
        &["cancel", "a ok", "rerun failed", "a fail X"],
        "a=FAILED#2(X) b=BLOCKED#0(by a) run=FAILED",
    );
    check(
        "a; b <- a",
        &["cancel", "a ok", "rerun failed", "a ok", "b ok"],
        "a=SUCCESS#2 b=SUCCESS#1 run=SUCCESS",
    );
}
