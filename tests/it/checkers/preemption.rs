//! Who is stopped for a higher class may be, no more are than it takes, and those who should be are.
//!
//! Pools in which somebody waits for a limit are looked at for the first of these only.

use std::collections::BTreeSet;

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::{Instant, State, StopReason, TaskPolicy, TaskRunId};

use super::{Checker, Step};

const MOST: u32 = 3;

/// Who was asked and has not ended.
#[derive(Default)]
pub struct Preemption(BTreeSet<TaskRunId>);

/// Priority, first READY time and id, the priority as it is after the wait.
type Place = (u8, Instant, TaskRunId);

#[derive(Clone, Copy)]
struct Holder {
    id: TaskRunId,
    slots: u32,
    priority: u8,
    started_at: Instant,
    place: Place,
    /// Whether it will go without anybody's doing.
    leaving: bool,
    /// Whether it may be asked to.
    willing: bool,
}

struct Waiter {
    slots: u32,
    priority: u8,
    place: Place,
    limited: bool,
}

fn policy<'a>(step: &Step<'a>, at: TaskRunRef) -> &'a TaskPolicy {
    &step.task(at).policy
}

fn fits(there_are: u32, held: u32, slots: u32) -> bool {
    there_are > 0 && (held == 0 || held + slots <= there_are)
}

/// How many of those who wait have slots when these are held and do not come back; and what is held
/// before the first who has none.
fn served(there_are: u32, stay: u32, waiters: &[Waiter]) -> (usize, u32) {
    let mut held = stay;
    for (nth, waiter) in waiters.iter().enumerate() {
        if !fits(there_are, held, waiter.slots) {
            return (nth, held);
        }
        held += waiter.slots;
    }
    (waiters.len(), held)
}

fn pool_of(step: &Step, pool: &Option<String>) -> (Vec<Holder>, Vec<Waiter>) {
    let ageing = step.truth.ageing.get(pool).copied().flatten();
    let (mut holders, mut waiters) = (Vec::new(), Vec::new());
    for run in step.world.runs() {
        for (task_run, index) in run.task_runs().iter().zip(0..) {
            let task = step.task(TaskRunRef { run: run.row.id, index });
            let policy = &task.policy;
            if policy.pool != *pool {
                continue;
            }
            let p = &task_run.progress;
            let first = p.first_ready_at.unwrap_or_default();
            let waited = step.now.millis_since(first).max(0);
            let classes = ageing.map_or(0, |ageing| waited / ageing).min(9) as u8;
            let place = (policy.priority.saturating_sub(classes), first, task_run.id);
            match &task_run.live {
                Some(live) => {
                    let leaving = live.ended || live.stop.is_some();
                    let may = policy.preemptible && policy.idempotent && p.preemptions_used < MOST;
                    holders.push(Holder {
                        id: task_run.id,
                        slots: live.slots,
                        priority: policy.priority,
                        started_at: live.started_at,
                        place,
                        leaving,
                        willing: may && !leaving,
                    });
                }
                // What rests takes no slots, and what stands for items none of its own.
                None if p.state == State::Ready
                    && task.slots() > 0
                    && run.items(index).is_none() =>
                {
                    let of_map = task.map.as_ref().is_some_and(|map| map.max_active.is_some());
                    let own = policy.max_active.is_some() || !policy.limits.is_empty();
                    let limited = own || of_map;
                    let (slots, priority) = (policy.slots, policy.priority);
                    waiters.push(Waiter { slots, priority, place, limited });
                }
                None => {}
            }
        }
    }
    waiters.sort_unstable_by_key(|waiter| waiter.place);
    (holders, waiters)
}

impl Checker for Preemption {
    fn name(&self) -> &'static str {
        "preemption"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.moves {
            if to.to.preemptions_used > MOST {
                return Err(format!("too often: {:?}", to.to));
            }
        }
        let asked = step.decision.stops.iter();
        let asked = asked.filter(|stop| stop.stop.reason == StopReason::Preempt);
        let mut new = BTreeSet::new();
        for stop in asked {
            let policy = policy(step, stop.at);
            if !policy.preemptible || !policy.idempotent {
                return Err(format!("{stop:?} may not give way"));
            }
            new.insert(stop.id);
        }
        let dispatched = matches!(step.event, Event::Dispatch) && !step.world.interrupting();
        // A shutdown may leave less time to who was asked before.
        if !dispatched && !new.is_subset(&self.0) {
            return Err(format!("{new:?} for nobody"));
        }
        self.0.extend(&new);
        for end in &step.decision.ends {
            self.0.remove(&end.end.task_run_id);
        }
        if !dispatched {
            return Ok(());
        }
        for (pool, there_are) in &step.truth.pools {
            let (holders, waiters) = pool_of(step, pool);
            if waiters.iter().any(|waiter| waiter.limited) {
                continue;
            }
            check(*there_are, &holders, &waiters, &new, step.truth.ageing.contains_key(pool))?;
        }
        Ok(())
    }
}

fn check(
    there_are: u32,
    holders: &[Holder],
    waiters: &[Waiter],
    new: &BTreeSet<TaskRunId>,
    ages: bool,
) -> Result<(), String> {
    let stay: u32 = holders.iter().filter(|h| !h.leaving).map(|h| h.slots).sum();
    let (count, held) = served(there_are, stay, waiters);
    for asked in holders.iter().filter(|holder| new.contains(&holder.id)) {
        if served(there_are, stay + asked.slots, waiters).0 >= count {
            let held: Vec<_> =
                holders.iter().map(|h| (h.id, h.slots, h.priority, h.leaving)).collect();
            let wait: Vec<_> = waiters.iter().map(|w| (w.place, w.slots, w.priority)).collect();
            return Err(format!(
                "{} is stopped in vain: of {there_are} {held:?} hold, {wait:?} wait",
                asked.id
            ));
        }
        let lower = |h: &&Holder| (h.priority, h.started_at) > (asked.priority, asked.started_at);
        let other = holders.iter().filter(|h| h.willing && h.slots >= asked.slots).find(lower);
        if let Some(other) = other.filter(|_| !ages) {
            return Err(format!("{} is stopped and {} is not", asked.id, other.id));
        }
    }
    if let Some(waiter) = waiters.get(count) {
        let lower = |h: &&Holder| h.priority > waiter.priority && h.place > waiter.place;
        let could: u32 = holders.iter().filter(|h| h.willing).filter(lower).map(|h| h.slots).sum();
        if could > 0 && fits(there_are, held.saturating_sub(could), waiter.slots) {
            return Err(format!("nobody makes room for {:?}", waiter.place));
        }
    }
    Ok(())
}
