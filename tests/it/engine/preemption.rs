//! Who is stopped in favour of a higher class, and what becomes of it.

use super::bench::{Bench, check};

/// One slot is held by `low`; `u` is urgent and comes when `g`, which is elsewhere, has ended.
const ONE: &str = "slots=1; low : prio=9 gives max=1; g : pool=p; u <- g : prio=1";
const COMES: [&str; 2] = ["pool p 1", "g ok"];

fn after(world: &str, events: &[&str]) -> Bench {
    let mut bench = Bench::new(world);
    bench.all(&[&COMES, events].concat());
    bench
}

/// Names of those that were asked to give way and have not ended.
fn asked(bench: &Bench) -> String {
    let run = bench.world.runs().next().unwrap();
    let stopped = |live: &mainspring::engine::Live| live.stop.is_some() && !live.ended;
    let of = run.task_runs().iter().zip(0..);
    let asked = of.filter(|(task_run, _)| task_run.live.as_ref().is_some_and(stopped));
    asked.map(|(_, index)| run.name(index)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_higher_class_gets_the_slot_when_it_is_free() {
    let states = |events: &[&str]| after(ONE, events).states();
    let bench = after(ONE, &[]);
    assert_eq!(asked(&bench), "low");
    assert_eq!(bench.states(), "low=RUNNING#1 g=SUCCESS#1 u=READY#0 run=RUNNING");
    assert!(!bench.world.has_ready(bench.now), "it is asked once");
    let given = "low=READY#1(PREEMPTED) g=SUCCESS#1 u=RUNNING#1 run=RUNNING";
    assert_eq!(states(&["low preempted"]), given);
    assert_eq!(states(&["low fail X"]), given);
    // What was done within the grace is done.
    let done = "low=SUCCESS#1 g=SUCCESS#1 u=RUNNING#1 run=RUNNING";
    assert_eq!(states(&["low ok"]), done);
    // A cancel stays one.
    let canceled = "low=CANCELED#1(CANCELED) g=SUCCESS#1 u=RUNNING#1 run=RUNNING";
    assert_eq!(states(&["cancel low", "low ok"]), canceled);
}

#[test]
fn it_spends_no_attempt_and_keeps_its_place() {
    let bench = after(ONE, &["low preempted", "u ok"]);
    assert_eq!(bench.states(), "low=RUNNING#2 g=SUCCESS#1 u=SUCCESS#1 run=RUNNING");
    let bench = after(ONE, &["low preempted", "u ok", "low ok"]);
    assert_eq!(bench.states(), "low=SUCCESS#2 g=SUCCESS#1 u=SUCCESS#1 run=SUCCESS");
    let late = "slots=1; low : prio=9 gives; mate <- g : prio=9; g : pool=p; u <- g : prio=1";
    let bench = after(late, &["+5", "low preempted", "u ok"]);
    let states = "low=RUNNING#2 mate=READY#0 g=SUCCESS#1 u=SUCCESS#1 run=RUNNING";
    assert_eq!(bench.states(), states);
}

#[test]
fn the_slot_comes_when_its_thread_is_gone() {
    let given_up = "low=READY#1(PREEMPTED) g=SUCCESS#1 u=READY#0 run=RUNNING";
    assert_eq!(after(ONE, &["+1"]).states(), given_up);
    assert_eq!(after(ONE, &["+99"]).states(), given_up);
    let gone = "low=READY#1(PREEMPTED) g=SUCCESS#1 u=RUNNING#1 run=RUNNING";
    assert_eq!(after(ONE, &["+99", "low released"]).states(), gone);
    // Nobody else is asked in its stead.
    let two = "slots=2; low : prio=9 gives; mid : prio=8 gives; g : pool=p; u <- g : prio=1";
    assert_eq!(asked(&after(two, &["+99"])), "");
    assert_eq!(
        after(two, &["+99"]).states(),
        "low=READY#1(PREEMPTED) mid=RUNNING#1 g=SUCCESS#1 u=READY#0 run=RUNNING"
    );
}

#[test]
fn only_what_may_give_way_is_asked() {
    for policy in ["prio=9", "prio=9 gives once", "prio=1 gives", "prio=0 gives"] {
        let world = ONE.replace("prio=9 gives max=1", policy);
        let bench = after(&world, &[]);
        assert_eq!(asked(&bench), "", "{policy}");
        assert!(!bench.world.has_ready(bench.now));
    }
    // A free slot is taken first.
    assert_eq!(asked(&after(&ONE.replace("slots=1", "slots=2"), &[])), "");
    // Another pool is none of its business.
    let other = "slots=1; low : prio=9 gives; g : pool=p; u <- g : prio=1 pool=p";
    assert_eq!(asked(&after(other, &[])), "");
    // Who waits for a limit would not have the slot.
    assert_eq!(asked(&after(&ONE.replace("u <- g :", "u <- g : limit=x"), &[])), "");
}

#[test]
fn the_lowest_class_first_and_then_the_youngest() {
    let world = "slots=3; a : prio=7 gives; b : prio=9 gives; s : pool=q; c <- s : prio=9 gives
        g : pool=p; u <- g : prio=1; v <- g : prio=1; w <- g : prio=1";
    let events = ["pool p 1", "pool q 1", "+1", "s ok", "+1", "g ok"];
    let mut bench = Bench::new(world);
    bench.all(&events);
    assert_eq!(asked(&bench), "a b c");
    let mut bench = Bench::new(&world.replace("; w <- g : prio=1", ""));
    bench.all(&events);
    assert_eq!(asked(&bench), "b c");
    let mut bench = Bench::new(&world.replace("; v <- g : prio=1; w <- g : prio=1", ""));
    bench.all(&events);
    assert_eq!(asked(&bench), "c");
}

#[test]
fn enough_for_a_wide_one_or_nobody() {
    let world = "slots=4; m : prio=9 gives; n : prio=9 gives; f : slots=2 prio=9; g : pool=p";
    let wide = |slots| format!("{world}; u <- g : prio=1 slots={slots}");
    assert_eq!(asked(&after(&wide(1), &[])), "n");
    assert_eq!(asked(&after(&wide(2), &[])), "m n");
    assert_eq!(asked(&after(&wide(3), &[])), "");
    // One that is taken late may make others needless.
    let mixed =
        "slots=5; n : prio=9 gives; m : prio=8 slots=4 gives; g : pool=p; u <- g : prio=1 slots=4";
    assert_eq!(asked(&after(mixed, &[])), "m");
    // Wider than the whole pool: it needs all of it.
    let all = "slots=2; m : prio=9 gives; n : prio=9 gives; g : pool=p; u <- g : prio=1 slots=7";
    assert_eq!(asked(&after(all, &[])), "m n");
    let bench = after(all, &["m preempted", "n preempted"]);
    assert!(bench.states().contains("u=RUNNING#1"), "{}", bench.states());
}

#[test]
fn no_more_than_is_needed() {
    let world = "slots=3; a : prio=9 gives; b : prio=9 gives; c : prio=9 gives; g : pool=p";
    let bench = after(&format!("{world}; u <- g : prio=1; v <- g : prio=2"), &[]);
    assert_eq!(asked(&bench), "b c");
    // What is leaving anyway is waited for.
    let leaving = format!("{world}; u <- g : prio=1");
    let mut bench = Bench::new(&leaving);
    bench.all(&["pool p 1", "cancel a", "g ok"]);
    assert_eq!(asked(&bench), "a");
    // Another who comes meanwhile needs another slot.
    let bench =
        after(&format!("{world}; u <- g : prio=1; h <- g : pool=p; v <- h : prio=0"), &["h ok"]);
    assert_eq!(asked(&bench), "b c");
}

#[test]
fn three_times_at_most() {
    let mut world = String::from("slots=1; low : prio=9 gives; g0 : pool=p");
    for n in 0..4 {
        world.push_str(&format!("; u{n} <- g{n} : prio=1; g{} <- u{n} : pool=p", n + 1));
    }
    let mut bench = Bench::new(&world);
    bench.all(&["pool p 9"]);
    for n in 0..3 {
        bench.happen(&format!("g{n} ok"));
        assert_eq!(asked(&bench), "low", "{n}");
        bench.happen("low preempted");
        bench.happen(&format!("u{n} ok"));
    }
    bench.happen("g3 ok");
    assert_eq!(asked(&bench), "");
    assert!(bench.states().starts_with("low=RUNNING#4 "), "{}", bench.states());
}

#[test]
fn who_has_waited_long_enough_is_not_stopped_where_a_queue_ages() {
    // Two classes a minute: after four of them the low one would stand before the urgent one.
    let world = "slots=1; x : prio=0; low : prio=9 gives; g : pool=p; u <- g : prio=1";
    let come = |wait: &str| {
        let mut bench = Bench::new(world);
        bench.all(&["pool p 1", "ages 30000", wait, "x ok", "g ok"]);
        asked(&bench)
    };
    assert_eq!(come("+239"), "low");
    assert_eq!(come("+240"), "");
}

#[test]
fn a_shutdown_stops_nobody_for_somebody_else() {
    check(
        ONE,
        &["pool p 1", "interrupt", "g ok", "low ok"],
        "low=SUCCESS#1 g=SUCCESS#1 u=READY#0 run=RUNNING",
    );
}
