//! Wide and deep graphs (scenarios K01, K02): linear, without recursion, and reversible.

use std::sync::Arc;

use mainspring::engine::{
    Decision, Event, Plan, Report, RerunWhat, TaskRunRef, World, apply, decide,
};
use mainspring::model::{
    AttemptRecord, EdgeKind, NodeId, Outcome, RunId, RunState, ScopeId, State, TaskPolicy,
};

use super::bench::{START, new_run, plan, task};

fn large(tasks: u32, edges: Vec<(u32, u32)>) -> (World, Arc<Plan>) {
    let policy = TaskPolicy { max_attempts: Some(1), ..TaskPolicy::default() };
    let one = task("t", policy);
    let plan = plan(vec![one; tasks as usize], &edges, vec![EdgeKind::Success; edges.len()]);
    let mut world = World::new((1, 1), u32::MAX, NodeId(1), ScopeId(1));
    happen(&mut world, &Event::CreateRun(new_run(&plan)));
    (world, plan)
}

fn happen(world: &mut World, event: &Event) -> Decision {
    let decision = decide(world, event, START).unwrap();
    apply(world, &decision).unwrap();
    decision
}

fn report(world: &World, index: u32, outcome: Outcome) -> Event {
    let at = TaskRunRef { run: RunId(1), index };
    let live = world.task_run(at).unwrap().live.as_ref().unwrap();
    Event::AttemptEnded(Report {
        at,
        attempt_no: live.attempt_no,
        token: live.token,
        outcome,
        result: None,
        result_uri: None,
        record: AttemptRecord::default(),
        released: true,
        texts: None,
    })
}

fn run_out(world: &mut World) {
    loop {
        let decision = happen(world, &Event::Dispatch);
        if decision.starts.is_empty() {
            return;
        }
        for start in &decision.starts {
            let event = report(world, start.at.index, Outcome::Success);
            happen(world, &event);
        }
    }
}

/// The root fails, is repaired, and everything runs to its end.
fn fail_repair_run(tasks: u32, edges: Vec<(u32, u32)>) {
    let (mut world, _) = large(tasks, edges);
    let count = |world: &World, state| world.run(RunId(1)).unwrap().count(state);
    happen(&mut world, &Event::Dispatch);
    let event = report(&world, 0, Outcome::Failed);
    let blocked = happen(&mut world, &event);
    assert_eq!(blocked.moves.len(), tasks as usize, "one arrow each");
    assert_eq!(count(&world, State::Blocked), tasks - 1);
    let rerun = Event::Rerun { run: RunId(1), what: RerunWhat::Failed };
    let repaired = happen(&mut world, &rerun);
    assert_eq!(repaired.moves.len(), tasks as usize + 1, "one arrow each, and the root is ready");
    assert_eq!(count(&world, State::Blocked), 0);
    run_out(&mut world);
    assert_eq!(count(&world, State::Success), tasks);
    assert_eq!(world.run(RunId(1)).unwrap().row.state, RunState::Success);
    assert_eq!(world.next_wake(), None);
}

/// A hundred thousand open task runs take less than 100 MB: each has its own size, a lease's
/// place included, and at most one entry in a queue and one among the timers (about 100 bytes).
#[test]
fn a_task_run_is_small() {
    let size = std::mem::size_of::<mainspring::engine::TaskRun>();
    println!("{size} bytes");
    assert!((size + 200) * 100_000 < 100_000_000, "{size}");
}

#[test]
fn one_to_fifty_thousand_to_one() {
    let n = 50_000;
    let out = (1..=n).map(|index| (0, index));
    fail_repair_run(n + 2, out.chain((1..=n).map(|index| (index, n + 1))).collect());
}

#[test]
fn a_chain_of_a_hundred_thousand() {
    fail_repair_run(100_000, (1..100_000).map(|index| (index - 1, index)).collect());
}

#[test]
fn a_ladder_has_more_paths_than_can_be_counted() {
    let n = 20_000;
    let steps = (1..n).map(|index| (index - 1, index));
    fail_repair_run(n, steps.chain((2..n).map(|index| (index - 2, index))).collect());
}

#[test]
fn a_hundred_by_a_hundred() {
    let left = (1..=100).map(|index| (0, index));
    let across = (1..=100).flat_map(|up| (101..=200).map(move |down| (up, down)));
    fail_repair_run(201, left.chain(across).collect());
}

/// The sink of a wide graph whose cause is mended while another stays: no rescan per upstream.
#[test]
fn another_cause_is_found_once() {
    let n = 50_000;
    let out = (1..=n).map(|index| (0, index));
    let into = (1..=n).map(|index| (index, n + 2)).chain([(n + 1, n + 2)]);
    let (mut world, _) = large(n + 3, out.chain(into).collect());
    happen(&mut world, &Event::Dispatch);
    for index in [0, n + 1] {
        let event = report(&world, index, Outcome::Failed);
        happen(&mut world, &event);
    }
    let what = RerunWhat::Only(vec![0]);
    happen(&mut world, &Event::Rerun { run: RunId(1), what });
    let run = world.run(RunId(1)).unwrap();
    let sink = &run.task_run(n + 2).progress;
    assert_eq!((sink.state, sink.blocked_by), (State::Blocked, Some(run.task_run(n + 1).id)));
}
