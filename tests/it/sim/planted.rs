//! Proof that the checkers see: each rule is taken away in turn, around the real engine, by
//! giving it another event than the one that happened.

use std::sync::Arc;

use mainspring::engine::{EdgeRule, Event, Plan, Report};
use mainspring::model::{AttemptRecord, EdgeKind, Mapping, Outcome, TaskDef};

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
        (Fault::RestsInASlot, Event::CreateRun(new)) => {
            new.plan = with_defs(&new.plan, |def| {
                if def.rests() {
                    def.kind = "python".to_owned();
                }
            });
        }
        (Fault::NoIsALoss, Event::NotReady { at, attempt_no, token }) => {
            let (at, attempt_no, token) = (*at, *attempt_no, *token);
            given = Event::AttemptEnded(Report {
                at,
                attempt_no,
                token,
                outcome: Outcome::Lost,
                result: None,
                result_uri: None,
                record: AttemptRecord::default(),
                released: true,
                texts: None,
            });
        }
        (Fault::WrongWord, Event::Approve(word)) => word.reject = !word.reject,
        (fault, Event::CreateRun(new)) => {
            let change: fn(&mut TaskDef) = match fault {
                Fault::NoRetryBudget => |def| def.policy.max_attempts = Some(1_000),
                Fault::NoCareForRepeats => |def| def.policy.idempotent = true,
                Fault::NoMaxActive => |def| def.policy.max_active = None,
                Fault::EverybodyGivesWay => |def| def.policy.preemptible = true,
                Fault::NobodyGivesWay => |def| def.policy.preemptible = false,
                Fault::NoDeadline => |def| def.policy.deadline = None,
                Fault::NoBlockTimeout => |def| def.policy.block_timeout_ms = None,
                Fault::NoNotBefore => |def| def.policy.not_before = None,
                Fault::NoRunOn => |def| def.policy.run_on = None,
                Fault::NoItemLimit => |def| {
                    def.map = def.map.take().map(|map| Mapping { max_active: None, ..map });
                },
                _ => return given,
            };
            new.plan = with_defs(&new.plan, change);
        }
        (Fault::LostItem, Event::Expand { list: Ok(list), .. }) => drop(list.pop()),
        (Fault::ResultsAskew, Event::Collect { result: Some(result), .. }) => {
            let mut list: Vec<serde_json::Value> = serde_json::from_str(result).unwrap();
            list.reverse();
            *result = serde_json::Value::Array(list).to_string().into();
        }
        (Fault::NoLimits, Event::LimitSized { slots, .. }) => *slots = Some(100),
        // The engine hears of the cancel of something else.
        (Fault::NoCancel, Event::Cancel { only, .. }) => *only = Some(Vec::new()),
        _ => {}
    }
    given
}

/// A plan whose tasks say something else than was meant.
fn with_defs(plan: &Plan, change: impl Fn(&mut TaskDef)) -> Arc<Plan> {
    altered(plan, |plan| {
        for task in &mut plan.tasks {
            let mut def = (*task.def).clone();
            change(&mut def);
            task.def = Arc::new(def);
        }
    })
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
    caught_by(Fault::RestsInASlot, "rests");
    caught_by(Fault::NoIsALoss, "rests");
    caught_by(Fault::WrongWord, "words");
    caught_by(Fault::NoNotBefore, "not_before");
    caught_by(Fault::NoRunOn, "run_on");
    caught_by(Fault::NoItemLimit, "mapping");
    caught_by(Fault::LostItem, "mapping");
    caught_by(Fault::ResultsAskew, "mapping");
    caught_by(Fault::NoCareForRepeats, "budget");
    caught_by(Fault::NoLimits, "limits");
    caught_by(Fault::NoMaxActive, "limits");
    caught_by(Fault::EverybodyGivesWay, "preemption");
    caught_by(Fault::NobodyGivesWay, "preemption");
    caught_by(Fault::NoDeadline, "deadlines");
    caught_by(Fault::NoBlockTimeout, "blocked_for");
}
