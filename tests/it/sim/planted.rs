//! Proof that the checkers see: each rule is taken away in turn, around the real engine, by
//! giving it another event than the one that happened.

use std::sync::Arc;

use mainspring::engine::{EdgeRule, Event};
use mainspring::model::{EdgeKind, TaskPolicy};

use super::story::{Fault, Story, altered};

/// The event as the engine is told of it.
pub fn plant(story: &Story, event: &Event) -> Event {
    let mut given = event.clone();
    match (story.fault, &mut given) {
        (Fault::NoAttemptFence, Event::AttemptEnded(report)) => {
            let task_run = story.world.task_run(report.at);
            if let Some(live) = task_run.and_then(|task_run| task_run.live.as_ref()) {
                (report.attempt_no, report.token) = (live.attempt_no, live.token);
            }
        }
        (Fault::NoUniqueRunKey, Event::CreateRun(new)) => new.timed = false,
        (Fault::NoSlotLimit, Event::PoolSized { slots, .. }) => *slots += 2,
        (Fault::NoUpstreamCheck, Event::CreateRun(new)) => {
            new.plan =
                altered(&new.plan, |plan| plan.rules.fill(EdgeRule::of_kind(EdgeKind::Weak)));
        }
        (fault, Event::CreateRun(new)) => {
            let change: fn(&mut TaskPolicy) = match fault {
                Fault::NoRetryBudget => |policy| policy.max_attempts = Some(1_000),
                Fault::NoCareForRepeats => |policy| policy.idempotent = true,
                Fault::NoMaxActive => |policy| policy.max_active = None,
                Fault::EverybodyGivesWay => |policy| policy.preemptible = true,
                Fault::NobodyGivesWay => |policy| policy.preemptible = false,
                Fault::NoDeadline => |policy| policy.deadline = None,
                Fault::NoBlockTimeout => |policy| policy.block_timeout_ms = None,
                _ => return given,
            };
            new.plan = altered(&new.plan, |plan| {
                for task in &mut plan.tasks {
                    let mut def = (*task.def).clone();
                    change(&mut def.policy);
                    task.def = Arc::new(def);
                }
            });
        }
        (Fault::NoLimits, Event::LimitSized { slots, .. }) => *slots = Some(100),
        // The engine hears of the cancel of something else.
        (Fault::NoCancel, Event::Cancel { only, .. }) => *only = Some(Vec::new()),
        _ => {}
    }
    given
}

fn caught_by(fault: Fault, checker: &str) {
    super::caught_by(fault, checker, 0..100, |seed| Story::tell(seed, fault));
}

#[test]
fn each_planted_fault_is_caught_by_its_checker() {
    caught_by(Fault::NoAttemptFence, "fence");
    caught_by(Fault::NoUniqueRunKey, "unique");
    caught_by(Fault::NoSlotLimit, "slots");
    caught_by(Fault::NoUpstreamCheck, "upstreams");
    caught_by(Fault::NoRetryBudget, "budget");
    caught_by(Fault::NoCancel, "canceled");
    caught_by(Fault::NoCareForRepeats, "budget");
    caught_by(Fault::NoLimits, "limits");
    caught_by(Fault::NoMaxActive, "limits");
    caught_by(Fault::EverybodyGivesWay, "preemption");
    caught_by(Fault::NobodyGivesWay, "preemption");
    caught_by(Fault::NoDeadline, "deadlines");
    caught_by(Fault::NoBlockTimeout, "blocked_for");
}
