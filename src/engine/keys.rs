//! What is derived of a task run for the indexes of the world: its places in queues, timers, pools
//! and limits.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::items::Place;
use super::queue::{Group, Limit, QueueKey, Victim, VictimKey};
use super::run::{Run, TaskRun};
use super::{TaskRunRef, World};
use crate::model::{Instant, State};
use crate::policy::retry::may_preempt;

impl World {
    /// Where a task run stands in the queue, the timers and the pools.
    pub(super) fn keys(&self, at: TaskRunRef) -> Keys {
        let Some(run) = self.runs.get(&at.run) else { return Keys::default() };
        let (Some(task_run), Some(task)) = (run.get(at.index), run.task(at.index)) else {
            return Keys::default();
        };
        let progress = &task_run.progress;
        let ready = progress.state == State::Ready
            && task_run.live.is_none()
            && task_run.counts.unmet == 0
            && !task_run.is_mapped()
            && run.filling.is_none_or(|of| !of.halted);
        let policy = &task.def.policy;
        let key = queue_key(run, at.index, task_run);
        let queued = ready && task.def.slots() > 0;
        Keys {
            light: ready && task.def.slots() == 0,
            queue: queued.then(|| {
                let claims = run.claims(at.index);
                (key, Group { priority: key.0, claims })
            }),
            timer: due_at(task_run),
            held: task_run.live.as_ref().map(|live| {
                let gives_way = policy.gives_way() && may_preempt(progress.preemptions_used);
                let leaving = live.ended || live.stop.is_some() || live.slots == 0;
                let victim = (gives_way && !leaving).then(|| {
                    let order = (Reverse(key.0), Reverse(live.started_at), Reverse(key.2));
                    (order, Victim { at, slots: live.slots, key })
                });
                let limits = run.with_own(at.index, live.limits.clone(), live.slots);
                Held { slots: live.slots, limits, leaving, victim }
            }),
            gathering: task_run.is_gathering(),
        }
    }

    /// Its place in the queue of its pool.
    pub(super) fn queue_key(&self, at: TaskRunRef) -> Option<QueueKey> {
        let run = self.runs.get(&at.run)?;
        Some(queue_key(run, at.index, run.get(at.index)?))
    }

    pub(super) fn put(&mut self, at: TaskRunRef, keys: &Keys) {
        if let Some(timer) = keys.timer {
            self.timers.insert((timer, at));
        }
        if let Some(Held { slots, limits, leaving, victim }) = &keys.held {
            self.leased.insert(at);
            let pool = self.pools.entry(self.pool_of(at)).or_default();
            pool.held += slots;
            pool.leaving += if *leaving { *slots } else { 0 };
            pool.victims.extend(*victim);
            for (limit, slots) in limits.iter().flat_map(|limits| limits.iter()) {
                self.limits.entry(limit.clone()).or_default().held += slots;
            }
        }
        if keys.light {
            self.light.insert(at);
        }
        if keys.gathering {
            self.gathering.insert(at);
        }
        if let Some((queue, group)) = &keys.queue {
            self.pools.entry(self.pool_of(at)).or_default().enqueue(*queue, group, at);
        }
    }

    pub(super) fn take(&mut self, at: TaskRunRef, keys: &Keys) {
        if let Some(timer) = keys.timer {
            self.timers.remove(&(timer, at));
        }
        if let Some(Held { slots, limits, leaving, victim }) = &keys.held {
            self.leased.remove(&at);
            if let Some(pool) = self.pools.get_mut(&self.pool_of(at)) {
                pool.held = pool.held.saturating_sub(*slots);
                let left = if *leaving { *slots } else { 0 };
                pool.leaving = pool.leaving.saturating_sub(left);
                if let Some((order, _)) = victim {
                    pool.victims.remove(order);
                }
            }
            for (limit, slots) in limits.iter().flat_map(|limits| limits.iter()) {
                self.give_back(limit, *slots);
            }
        }
        if keys.light {
            self.light.remove(&at);
        }
        if keys.gathering {
            self.gathering.remove(&at);
        }
        if let Some((queue, group)) = &keys.queue
            && let Some(pool) = self.pools.get_mut(&self.pool_of(at))
        {
            pool.dequeue(*queue, group);
        }
    }

    fn give_back(&mut self, name: &str, slots: u32) {
        let Some(limit) = self.limits.get_mut(name) else { return };
        limit.held = limit.held.saturating_sub(slots);
        // A task's own limit is in its definition: nothing is to be remembered of it.
        if *limit == Limit::default() {
            self.limits.remove(name);
        }
    }

    pub(super) fn pool_of(&self, at: TaskRunRef) -> Option<String> {
        self.runs.get(&at.run)?.task(at.index)?.def.policy.pool.clone()
    }
}

fn queue_key(run: &Run, index: u32, task_run: &TaskRun) -> QueueKey {
    let first = task_run.progress.first_ready_at.unwrap_or_default();
    (run.priority(index), first, task_run.id)
}

/// What is derived of one task run for the indexes of the world.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Keys {
    light: bool,
    queue: Option<(QueueKey, Group)>,
    timer: Option<Instant>,
    held: Option<Held>,
    gathering: bool,
}

/// What a lease holds.
#[derive(Debug, PartialEq)]
struct Held {
    slots: u32,
    limits: Option<Arc<BTreeMap<String, u32>>>,
    /// Whether it comes back without anybody's doing.
    leaving: bool,
    /// Its place among those that may be stopped in favour of a higher class.
    victim: Option<(VictimKey, Victim)>,
}

/// When time alone will have something to do with a task run. What stands where it cannot stay,
/// as rows may do that a crash left behind, is due at once.
pub(super) fn due_at(task_run: &TaskRun) -> Option<Instant> {
    let p = &task_run.progress;
    // What ended in time needs no watch, and a miss is noted once.
    let watched = !p.state.is_final() && p.overdue_at.is_none();
    let deadline = p.deadline_at.filter(|_| watched);
    let blocked = p.blocked_until.filter(|_| p.state == State::Blocked);
    let patience = task_run.patience.as_deref().filter(|_| !p.state.is_final());
    let patience = patience.and_then(|patience| patience.open.first()).map(|(until, _)| *until);
    [standing(task_run), deadline, blocked, patience].into_iter().flatten().min()
}

/// The part of it that follows from where it stands.
fn standing(task_run: &TaskRun) -> Option<Instant> {
    const AT_ONCE: Option<Instant> = Some(Instant(i64::MIN));
    let (progress, counts) = (&task_run.progress, task_run.counts);
    if let Some(live) = task_run.live.as_ref().filter(|live| !live.ended) {
        let poll = live.rest.and_then(|rest| rest.until);
        let of_itself = live.timeout_at.into_iter().chain(poll).min();
        return live.stop.map(|stop| stop.give_up_at).or(of_itself);
    }
    if let Place::Mapped(items) = &task_run.place
        && progress.state == State::Running
    {
        let over = items.tally.open() == 0 && items.tally.ended_badly() > 0;
        return if over { AT_ONCE } else { None };
    }
    match progress.state {
        _ if counts.unread > 0 => None,
        State::Pending | State::Blocked if counts.skips > 0 => AT_ONCE,
        State::Pending if counts.broken > 0 => AT_ONCE,
        State::Blocked if counts.broken == 0 => AT_ONCE,
        State::Ready | State::RetryWait if counts.unmet > 0 => AT_ONCE,
        State::Pending | State::RetryWait if counts.unmet == 0 && task_run.live.is_none() => {
            progress.wake_at.or(AT_ONCE)
        }
        _ => None,
    }
}
