//! Proof that the search sees: rules are taken away around the real engine, by giving it another
//! event than the one that happened, or by forgetting what was stored.

use std::sync::Arc;

use mainspring::engine::{EdgeRule, Event, Plan};
use mainspring::model::{EdgeKind, State, TaskPolicy, Token};

use super::node::Node;
use super::{search, small};
use crate::sim::rows::MemoryRows;
use crate::sim::story::altered;

/// A rule that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A report counts for the attempt that is live, whichever it comes from.
    NoAttemptFence,
    /// Nothing waits for its upstreams.
    NoUpstreams,
    /// A COMPLETED edge wants a success.
    NoCompleted,
    /// Any success is a match.
    NoPatterns,
    /// Nothing waits for other runs.
    NoOtherRuns,
    /// What is read of other runs is as if they had all succeeded.
    AllSucceeded,
    /// What must not run twice may.
    NoOnce,
    /// Pools have a slot more than they have.
    NoSlotLimit,
    /// All priorities are the same.
    NoPriority,
    /// A cancel is not heard.
    NoCancel,
    /// A stop is not stored.
    NoStoredStop,
    /// A thread that is gone keeps its slots.
    NoRelease,
    /// Nobody looks at the clock.
    NoTimers,
}

impl Fault {
    /// Whether it is for the checker of starts, which comes too late for it otherwise: what stands
    /// where it should not is seen before.
    pub fn is_seen_at_starts(self) -> bool {
        [Fault::NoUpstreams, Fault::AllSucceeded].contains(&self)
    }
}

/// The event as the engine is told of it.
pub fn plant(fault: Fault, node: &Node, event: &Event) -> Event {
    let mut given = event.clone();
    match (fault, &mut given) {
        (Fault::NoAttemptFence, Event::AttemptEnded(report)) => {
            let task_run = node.world.task_run(report.at);
            if let Some(live) = task_run.and_then(|task_run| task_run.live.as_ref()) {
                (report.attempt_no, report.token) = (live.attempt_no, live.token);
            }
        }
        (Fault::NoUpstreams, Event::CreateRun(new)) => {
            let weak = EdgeRule::of_kind(EdgeKind::Weak);
            new.plan = altered(&new.plan, |plan| plan.rules.fill(weak));
        }
        (Fault::NoCompleted, Event::CreateRun(new)) => {
            new.plan = with_success_for(EdgeKind::Completed, &new.plan);
        }
        (Fault::NoPatterns, Event::CreateRun(new)) => {
            new.plan = with_success_for(EdgeKind::OutputMatch, &new.plan);
        }
        (Fault::NoOtherRuns, Event::CreateRun(new)) => {
            new.plan = altered(&new.plan, |plan| plan.across.iter_mut().for_each(Vec::clear));
        }
        (Fault::AllSucceeded, Event::Read(cells)) => {
            let found = cells.iter_mut().flat_map(|(_, known)| known.found.values_mut());
            found.for_each(|found| found.state = State::Success);
        }
        (Fault::NoOnce, Event::CreateRun(new)) => {
            new.plan = with_policies(&new.plan, |policy| {
                (policy.idempotent, policy.max_attempts) = (true, Some(3));
            });
        }
        (Fault::NoPriority, Event::CreateRun(new)) => {
            new.plan = with_policies(&new.plan, |policy| policy.priority = 5);
        }
        (Fault::NoSlotLimit, Event::PoolSized { slots, .. }) => *slots += 1,
        // The engine hears of the cancel of nothing.
        (Fault::NoCancel, Event::Cancel { only, .. }) => *only = Some(Vec::new()),
        (Fault::NoRelease, Event::AttemptReleased { token, .. }) => *token = Token(-1),
        (Fault::NoTimers, Event::Tick) => {
            given = Event::Cancel {
                run: mainspring::model::RunId(1),
                only: Some(vec![]),
                grace_ms: None,
            };
        }
        _ => {}
    }
    given
}

/// The rows as they are kept.
pub fn keep(fault: Fault, rows: &mut MemoryRows) {
    if fault == Fault::NoStoredStop {
        let leases = rows.runs.values_mut().flat_map(|stored| stored.leases.values_mut());
        leases.for_each(|lease| lease.stop_reason = None);
    }
}

fn with_success_for(kind: EdgeKind, plan: &Plan) -> Arc<Plan> {
    altered(plan, |plan| {
        let rules = plan.rules.iter_mut().filter(|rule| rule.kind == kind);
        rules.for_each(|rule| rule.kind = EdgeKind::Success);
    })
}

fn with_policies(plan: &Plan, change: impl Fn(&mut TaskPolicy)) -> Arc<Plan> {
    altered(plan, |plan| {
        for task in &mut plan.tasks {
            let mut def = (*task.def).clone();
            change(&mut def.policy);
            task.def = Arc::new(def);
        }
    })
}

#[test]
fn each_rule_that_is_taken_away_is_found() {
    let faults = [
        (Fault::NoAttemptFence, "diamond", "fence"),
        (Fault::NoUpstreams, "diamond", "edges"),
        (Fault::NoPatterns, "branch", "stands"),
        (Fault::NoCompleted, "chain", "stands"),
        (Fault::NoOtherRuns, "dates", "stands"),
        (Fault::AllSucceeded, "dates", "edges"),
        (Fault::NoOnce, "once", "budget"),
        (Fault::NoSlotLimit, "queue", "slots"),
        (Fault::NoPriority, "queue", "order"),
        (Fault::NoCancel, "diamond", "canceled"),
        (Fault::NoStoredStop, "chain", "level"),
        (Fault::NoRelease, "diamond", "liveness"),
        (Fault::NoTimers, "chain", "liveness"),
    ];
    for (fault, world, checker) in faults {
        let worlds = small::all();
        let small = worlds.iter().find(|small| small.name == world).unwrap();
        match search(small, fault, MOST) {
            Err(wrong) if wrong.starts_with(&format!("{checker}:")) => {
                let steps = wrong.lines().count().saturating_sub(2);
                println!("{fault:?} is found by {checker} in {world} after {steps} steps");
            }
            Err(wrong) => panic!("{fault:?} is found by another than {checker}: {wrong}"),
            Ok(seen) => panic!("{fault:?} goes unnoticed in {} states of {world}", seen.states),
        }
    }
}

/// A rule that is missing is missed within so many states.
const MOST: usize = 20_000;
