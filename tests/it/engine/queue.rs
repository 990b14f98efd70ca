//! Who starts first, and what fits.

use super::bench::{Bench, check};

#[test]
fn by_priority_then_by_first_ready_time_then_by_id() {
    let world = "slots=1; a : prio=5; b : prio=5; c : prio=1";
    check(world, &[], "a=READY#0 b=READY#0 c=RUNNING#1 run=RUNNING");
    check(world, &["c ok"], "a=RUNNING#1 b=READY#0 c=SUCCESS#1 run=RUNNING");
}

#[test]
fn a_wide_one_is_not_overtaken_and_one_too_wide_runs_alone() {
    let world = "slots=2; a; w : slots=2; b : prio=6";
    check(world, &[], "a=RUNNING#1 w=READY#0 b=READY#0 run=RUNNING");
    check(world, &["a ok"], "a=SUCCESS#1 w=RUNNING#1 b=READY#0 run=RUNNING");
    check(
        "slots=2; a; w : slots=9; b : prio=6",
        &["a ok"],
        "a=SUCCESS#1 w=RUNNING#1 b=READY#0 run=RUNNING",
    );
    check("slots=0; a", &[], "a=READY#0 run=RUNNING");
}

#[test]
fn pools_do_not_hinder_each_other() {
    let mut bench = Bench::new("slots=1; a; b; c : pool=p; d : pool=p");
    bench.event(&mainspring::engine::Event::PoolSized { pool: Some("p".into()), slots: 1 });
    bench.all(&[]);
    assert_eq!(bench.states(), "a=RUNNING#1 b=READY#0 c=RUNNING#1 d=READY#0 run=RUNNING");
    assert!(!bench.world.has_ready(bench.now));
    bench.event(&mainspring::engine::Event::PoolSized { pool: Some("p".into()), slots: 2 });
    assert!(bench.world.has_ready(bench.now));
    assert_eq!(bench.world.pool(Some("p")), Some((2, 1)));
}

#[test]
fn a_timed_run_is_made_once() {
    let mut bench = Bench::new("a");
    let plan = bench.world.runs().next().unwrap().plan.clone();
    let mut new = super::bench::new_run(&plan);
    new.timed = true;
    bench.event(&mainspring::engine::Event::CreateRun(new.clone()));
    bench.event(&mainspring::engine::Event::CreateRun(new));
    assert_eq!(bench.refused(), "d has a run for 1970-01-12T13:46:40Z already: run 2");
    assert_eq!(bench.world.runs().count(), 2);
}

#[test]
fn what_is_not_chosen_is_skipped_from_the_start() {
    let mut bench = Bench::new("a; b <- a; c <- b");
    let plan = bench.world.runs().next().unwrap().plan.clone();
    let mut new = super::bench::new_run(&plan);
    new.only = Some(vec![1]);
    bench.event(&mainspring::engine::Event::CreateRun(new.clone()));
    let states = |bench: &Bench, id| {
        let run = bench.world.run(mainspring::model::RunId(id)).unwrap();
        let words: Vec<String> =
            run.task_runs().iter().map(|task_run| task_run.progress.state.to_string()).collect();
        format!("{} {}", words.join(" "), run.row.state)
    };
    assert_eq!(states(&bench, 2), "SKIPPED READY SKIPPED RUNNING");
    new.only = Some(Vec::new());
    bench.event(&mainspring::engine::Event::CreateRun(new.clone()));
    assert_eq!(states(&bench, 3), "SKIPPED SKIPPED SKIPPED SUCCESS");
    new.only = Some(vec![7]);
    bench.event(&mainspring::engine::Event::CreateRun(new));
    assert_eq!(bench.refused(), "run 4 has no task with index 7");
}
