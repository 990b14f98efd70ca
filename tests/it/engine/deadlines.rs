//! Deadlines, and how long something may be BLOCKED.

use mainspring::engine::Event;
use mainspring::model::{Instant, RunId, RunState, Trigger};

use super::bench::{Bench, START, check, new_run};

/// Names of the tasks whose deadline was noted, and when, in seconds.
fn noted(bench: &Bench) -> Vec<(String, i64)> {
    let run = bench.world.run(RunId(1)).unwrap();
    let of = run.task_runs().iter().zip(0..);
    of.filter_map(|(task_run, index)| {
        let at = task_run.progress.overdue_at?;
        Some((run.name(index), (at - START) / 1_000_000))
    })
    .collect()
}

#[test]
fn what_is_open_at_its_deadline_is_noted_once_and_goes_on() {
    let mut bench = Bench::new("a : deadline=10s; b : deadline=10s; c <- a : deadline=20s");
    bench.all(&["+9", "b ok", "+5"]);
    assert_eq!(noted(&bench), [("a".into(), 10)]);
    assert_eq!(
        bench.why("a"),
        "a of run 1 is RUNNING: attempt 1 runs since 1970-01-12T13:46:40Z; its deadline 1970-01-12T13:46:50Z has passed"
    );
    assert_eq!(bench.world.next_wake(), Some(START + 20_000_000));
    bench.all(&["crash", "+99"]);
    assert_eq!(noted(&bench), [("a".into(), 10), ("c".into(), 20)]);
    bench.all(&["a ok", "c ok"]);
    assert_eq!(bench.states(), "a=SUCCESS#2 b=SUCCESS#1 c=SUCCESS#1 run=SUCCESS");
    assert_eq!(bench.world.next_wake(), None);
}

#[test]
fn where_it_is_told_to_cancel_it_cancels() {
    let cancels = "a : deadline=10s cancels max=9; b <- a";
    check(cancels, &["+10"], "a=RUNNING#1 b=PENDING#0 run=RUNNING");
    let end = "a=CANCELED#1(DEADLINE) b=BLOCKED#0(by a) run=CANCELED";
    check(cancels, &["+10", "a ok"], end);
    check(cancels, &["+10", "a fail X"], end);
    check(cancels, &["+11"], end);
    check(cancels, &["+10", "crash"], end);
    // What does not run is canceled at once.
    let wide = "a : deadline=10s cancels fixed=60000 max=9; b <- a : deadline=5s cancels";
    check(wide, &["+5", "a ok"], "a=SUCCESS#1 b=CANCELED#0(DEADLINE) run=CANCELED");
    check(wide, &["a fail X", "+10"], "a=CANCELED#1(DEADLINE) b=CANCELED#0(DEADLINE) run=CANCELED");
    // Somebody's own cancel is not the deadline's doing.
    check(
        cancels,
        &["cancel", "a ok"],
        "a=CANCELED#1(CANCELED) b=CANCELED#0(CANCELED) run=CANCELED",
    );
    let no_grace = "a : deadline=10s cancels grace=0";
    check(no_grace, &["+10"], "a=CANCELED#1(DEADLINE) run=CANCELED");
}

#[test]
fn who_reruns_what_is_late_knows_that() {
    let mut bench = Bench::new("a : deadline=10s cancels; b");
    bench.all(&["a fail X", "+60", "rerun a", "+60"]);
    assert_eq!(bench.states(), "a=RUNNING#2 b=RUNNING#1 run=RUNNING");
    assert_eq!(noted(&bench), [("a".into(), 60)]);
    assert!(bench.last.overdue.is_empty());
    bench.all(&["cancel a", "a ok"]);
    assert_eq!(bench.states(), "a=CANCELED#2(CANCELED) b=RUNNING#1 run=RUNNING");
    // In time it is bound as before.
    let mut bench = Bench::new("a : deadline=10s cancels; b");
    bench.all(&["a fail X", "+5", "rerun a", "+5", "a ok"]);
    assert_eq!(bench.states(), "a=CANCELED#2(DEADLINE) b=RUNNING#1 run=RUNNING");
}

fn utc(text: &str) -> Instant {
    Instant::from_secs(mainspring::calendar::Wall::parse(text.trim_end_matches('Z')).unwrap().0)
}

/// A backfill of last month cannot meet its deadlines and is not canceled for that; a fire that is
/// caught up with is late.
#[test]
fn a_run_that_is_asked_for_after_its_deadline_has_none() {
    for (trigger, bound) in [
        (Trigger::Manual, false),
        (Trigger::Backfill, false),
        (Trigger::Schedule, true),
        (Trigger::Catchup, true),
    ] {
        let mut bench = Bench::new("a : deadline=10s cancels");
        bench.all(&["a ok", "+60"]);
        let plan = bench.world.runs().next().unwrap().plan.clone();
        let mut new = new_run(&plan);
        new.trigger = trigger;
        bench.event(&Event::CreateRun(new));
        bench.event(&Event::Tick);
        let state = bench.world.run(RunId(2)).unwrap().row.state;
        let expected = if bound { RunState::Canceled } else { RunState::Running };
        assert_eq!(state, expected, "{trigger}");
    }
}

/// The instant follows from the run and its zone, whatever the clock says: model.md, section 3.
#[test]
fn a_time_of_day_is_one_of_the_nominal_date() {
    let at = |deadline: &str, zone: &str, nominal: &str| {
        let mut bench = Bench::new(&format!("a : deadline={deadline}"));
        let plan = bench.world.runs().next().unwrap().plan.clone();
        let mut new = new_run(&plan);
        (new.timezone, new.nominal_at) = (zone.into(), utc(nominal));
        bench.event(&Event::CreateRun(new));
        let run = bench.world.run(RunId(2)).unwrap();
        run.task_run(0).progress.deadline_at.unwrap().to_string()
    };
    // 02:00 in Shanghai on 15 January is 18:00 UTC of the day before.
    let fire = "2024-01-14T18:00:00Z";
    assert_eq!(at("07:30", "Asia/Shanghai", fire), "2024-01-14T23:30:00Z");
    assert_eq!(at("2h", "Asia/Shanghai", fire), "2024-01-14T20:00:00Z");
    // New York jumps from 02:00 EST to 03:00 EDT on 10 March 2024, and back at 02:00 EDT on
    // 3 November: the end of the jump, and the first of two.
    let march = "2024-03-10T06:00:00Z";
    assert_eq!(at("02:30", "America/New_York", march), "2024-03-10T07:00:00Z");
    assert_eq!(at("07:30", "America/New_York", march), "2024-03-10T11:30:00Z");
    let november = "2024-11-03T05:00:00Z";
    assert_eq!(at("01:30", "America/New_York", november), "2024-11-03T05:30:00Z");
}

#[test]
fn what_is_blocked_for_too_long_is_given_up() {
    let world = "a; b <- a : block=60000; c <- b; d";
    check(
        world,
        &["a fail X", "+59"],
        "a=FAILED#1(X) b=BLOCKED#0(by a) c=BLOCKED#0(by a) d=RUNNING#1 run=RUNNING",
    );
    let given_up =
        "a=FAILED#1(X) b=FAILED#0(BLOCK_TIMEOUT) c=BLOCKED#0(by b) d=RUNNING#1 run=RUNNING";
    check(world, &["a fail X", "+60"], given_up);
    check(world, &["a fail X", "crash", "+60"], &given_up.replace("d=RUNNING#1", "d=RUNNING#2"));
    // A repair in time is one; it begins anew with the next failure.
    let repaired = ["a fail X", "+59", "rerun a", "+59", "a fail X", "+59"];
    check(
        world,
        &repaired,
        "a=FAILED#2(X) b=BLOCKED#0(by a) c=BLOCKED#0(by a) d=RUNNING#1 run=RUNNING",
    );
    check(world, &["a fail X", "+60", "a ok"], given_up);
    let rerun = ["a fail X", "+60", "rerun failed", "a ok", "b ok"];
    check(world, &rerun, "a=SUCCESS#2 b=SUCCESS#1 c=RUNNING#1 d=RUNNING#1 run=RUNNING");
    check(
        world,
        &["a fail X", "cancel b", "+99"],
        "a=FAILED#1(X) b=CANCELED#0(CANCELED) c=BLOCKED#0(by b) d=RUNNING#1 run=RUNNING",
    );
}

#[test]
fn another_cause_does_not_give_it_more_time() {
    let world = "a; e; b <- a e : block=60000; d";
    let events = ["a fail X", "+30", "e fail Y", "rerun a", "+30"];
    check(
        world,
        &events,
        "a=RUNNING#2 e=FAILED#1(Y) b=FAILED#0(BLOCK_TIMEOUT) d=RUNNING#1 run=RUNNING",
    );
}

/// Seed 8759: `d` loses a cause and is given one in the same decision; it does not change it again,
/// so what is below it names the same.
#[test]
fn who_is_given_up_becomes_the_cause_of_what_is_below() {
    let world = "r; x <- r; a <- r : block=1000; b <- a; d <- a? b x; e <- d; h";
    let states = "r=FAILED#1(X) x=BLOCKED#0(by r) a=FAILED#0(BLOCK_TIMEOUT) b=BLOCKED#0(by a) \
                  d=BLOCKED#0(by a) e=BLOCKED#0(by a) h=RUNNING#1 run=RUNNING";
    check(world, &["r fail X", "+1"], states);
}

/// A run of which only BLOCKED is left has FAILED; what time will do about it is done all the same.
#[test]
fn a_run_that_has_ended_is_kept_for_what_is_still_to_come() {
    let mut bench = Bench::new("a; b <- a : block=60000");
    bench.all(&["a fail X"]);
    assert_eq!(bench.states(), "a=FAILED#1(X) b=BLOCKED#0(by a) run=FAILED");
    assert!(!bench.world.forget(RunId(1)));
    bench.all(&["crash", "+60"]);
    assert_eq!(bench.states(), "a=FAILED#1(X) b=FAILED#0(BLOCK_TIMEOUT) run=FAILED");
    assert!(bench.world.forget(RunId(1)));
}

/// Scenarios C19 and C22: a run in which nothing runs, may start or is tried again keeps no other
/// run of its dag out.
#[test]
fn a_run_that_only_waits_holds_no_place_among_the_active_ones() {
    let active = |world: &str, events: &[&str]| {
        let mut bench = Bench::new(world);
        bench.all(events);
        let dag = bench.world.runs().next().unwrap().row.dag_id;
        (bench.states(), bench.world.active_runs(dag))
    };
    let rows: [(&str, &[&str], &str, u32); 6] = [
        ("a : max=2 fixed=5000", &[], "a=RUNNING#1 run=RUNNING", 1),
        ("a : max=2 fixed=5000", &["a fail X"], "a=RETRY_WAIT#1(X) run=RUNNING", 1),
        ("slots=0; a", &[], "a=READY#0 run=RUNNING", 1),
        // The thread of its first attempt runs on: it may not start, and nothing else is open.
        ("a; b <- a", &["a hung X", "rerun a"], "a=PENDING#1 b=PENDING#0 run=RUNNING", 0),
        ("a; b <- a", &["a fail X"], "a=FAILED#1(X) b=BLOCKED#0(by a) run=FAILED", 0),
        (
            "a; b <- a",
            &["a hung X", "rerun a", "a released"],
            "a=RUNNING#2 b=PENDING#0 run=RUNNING",
            1,
        ),
    ];
    for (world, events, states, count) in rows {
        assert_eq!(active(world, events), (states.to_owned(), count), "{events:?}");
    }
}
