//! COMPLETED edges with `wait_up_to`: after that they hold without their upstream.

use super::bench::{Bench, START, check};

#[test]
fn an_edge_holds_without_its_upstream_when_its_time_is_over() {
    let world = "a; b <- a?5000";
    check(world, &["+4"], "a=RUNNING#1 b=PENDING#0 run=RUNNING");
    check(world, &["+5"], "a=RUNNING#1 b=RUNNING#1 run=RUNNING");
    // What ends in time lets go at once, and a failure is an end too.
    check(world, &["+4", "a fail X"], "a=FAILED#1(X) b=RUNNING#1 run=RUNNING");
    // The end of what was waited for long enough changes nothing.
    check(world, &["+5", "b ok", "a ok"], "a=SUCCESS#1 b=SUCCESS#1 run=SUCCESS");
    // Other edges are waited for as before.
    let world = "a; c; b <- a?5000 c";
    check(world, &["+5"], "a=RUNNING#1 c=RUNNING#1 b=PENDING#0 run=RUNNING");
    check(world, &["+9", "c ok"], "a=RUNNING#1 c=SUCCESS#1 b=RUNNING#1 run=RUNNING");
    let blocked = "a=RUNNING#1 c=FAILED#1(X) b=BLOCKED#0(by c) run=RUNNING";
    check(world, &["+9", "c fail X"], blocked);
}

#[test]
fn each_edge_has_a_time_of_its_own() {
    let mut bench = Bench::new("a; c; b <- a?5000 c?8000; d <- a?");
    bench.all(&["+20"]);
    assert_eq!(bench.started["b"], [8]);
    assert!(!bench.started.contains_key("d"));
    assert_eq!(bench.world.next_wake(), None);
}

#[test]
fn a_run_that_waits_for_time_is_not_stuck() {
    // u is BLOCKED and not final: without its time b would wait for a repair, and the run be FAILED.
    let world = "a; u <- a; b <- u?5000";
    let waiting = "a=FAILED#1(X) u=BLOCKED#0(by a) b=PENDING#0 run=RUNNING";
    check(world, &["a fail X", "+4"], waiting);
    let gone_on = "a=FAILED#1(X) u=BLOCKED#0(by a) b=SUCCESS#1 run=FAILED";
    check(world, &["a fail X", "+5", "b ok"], gone_on);
    let stuck = "a=FAILED#1(X) u=BLOCKED#0(by a) b=PENDING#0 run=FAILED";
    check("a; u <- a; b <- u?", &["a fail X", "+9"], stuck);
}

#[test]
fn its_time_is_counted_from_when_the_run_was_made_or_its_later_nominal_time() {
    let started = |nominal: i64| {
        let change = |new: &mut mainspring::engine::NewRun| {
            new.nominal_at = START.plus_millis(nominal * 1_000);
        };
        let mut bench = Bench::with("a; b <- a?5000", change);
        bench.all(&["+40"]);
        bench.started["b"].clone()
    };
    assert_eq!(started(0), [5]);
    // A run of long ago that is made today has as much time as one of today.
    assert_eq!(started(-100_000), [5]);
    assert_eq!(started(10), [15]);
}

#[test]
fn what_is_over_stays_so_through_a_crash_and_a_rerun() {
    // b is READY and waits for the slot: the next process takes no arrow back for that.
    let mut bench = Bench::new("slots=1; a; b <- a?5000");
    bench.all(&["+5"]);
    assert_eq!(bench.states(), "a=RUNNING#1 b=READY#0 run=RUNNING");
    let revision = |bench: &Bench| bench.world.runs().next().unwrap().task_run(1).progress.revision;
    let before = revision(&bench);
    bench.happen("crash");
    bench.happen("+0");
    assert_eq!(revision(&bench), before);
    // The time that an upstream takes when it is run again is not waited for once more.
    let mut bench = Bench::new("a; b <- a?5000");
    bench.all(&["a ok", "b ok", "+5", "rerun b", "rerun a"]);
    assert_eq!(bench.states(), "a=RUNNING#2 b=RUNNING#2 run=RUNNING");
    bench.all(&["b ok"]);
    let stale = bench.world.runs().next().unwrap().task_run(1).progress.stale;
    assert!(!stale, "it does not need what runs again");
}

#[test]
fn explain_says_until_when_and_that_it_was() {
    let mut bench = Bench::new("slots=1; a; b <- a?5000");
    bench.all(&["+1"]);
    let until = START.plus_millis(5_000);
    let text =
        format!("b of run 1 is PENDING: waits for a (RUNNING); goes on without a at {until}");
    assert_eq!(bench.why("b"), text);
    bench.happen("+4");
    let text = bench.why("b");
    assert!(text.contains("READY"), "{text}");
    assert!(text.contains(&format!("a was waited for until {until}")), "{text}");
    assert!(!text.contains("waits for a"), "{text}");
}
