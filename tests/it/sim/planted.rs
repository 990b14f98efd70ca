//! Proof that the checkers see: each rule is taken away in turn, around the real engine, by
//! giving it another event than the one that happened.

use std::sync::Arc;

use mainspring::engine::{EdgeRule, Event};
use mainspring::model::{EdgeKind, Mapping};

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
        (Fault::NoRetryBudget, Event::CreateRun(new)) => {
            new.plan = altered(&new.plan, |plan| {
                for task in &mut plan.tasks {
                    let mut def = (*task.def).clone();
                    def.policy.max_attempts = Some(1_000);
                    task.def = Arc::new(def);
                }
            });
        }
        (Fault::NoItemLimit, Event::CreateRun(new)) => {
            new.plan = altered(&new.plan, |plan| {
                for task in &mut plan.tasks {
                    let mut def = (*task.def).clone();
                    def.map = def.map.map(|map| Mapping { max_active: None, ..map });
                    task.def = Arc::new(def);
                }
            });
        }
        (Fault::LostItem, Event::Expand { list: Ok(list), .. }) => drop(list.pop()),
        (Fault::ResultsAskew, Event::Collect { result: Some(result), .. }) => {
            let mut list: Vec<serde_json::Value> = serde_json::from_str(result).unwrap();
            list.reverse();
            *result = serde_json::Value::Array(list).to_string().into();
        }
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
    caught_by(Fault::NoItemLimit, "mapping");
    caught_by(Fault::LostItem, "mapping");
    caught_by(Fault::ResultsAskew, "mapping");
}
