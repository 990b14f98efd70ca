//! Pools and limits: how many slots there are, who holds them, and who waits for them.
//!
//! The queue of a pool is kept by groups of task runs that have the same priority and take the
//! same limits. What a limit holds back is therefore passed over by the group and not one by one,
//! however long the queue is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use super::{PlannedTask, TaskRunRef};
use crate::model::{Claim, Instant, TaskRunId};
use crate::policy::priority::aged;

/// Place in a queue: priority, first READY time, id.
pub(super) type QueueKey = (u8, Instant, TaskRunId);

/// Order in which attempts give way: the lowest class first, of that the youngest.
pub(super) type VictimKey = (Reverse<u8>, Reverse<Instant>, Reverse<TaskRunId>);

/// Whether so many more slots may be taken. What is wider than all there are runs alone, because
/// it would wait for ever otherwise; what needs none waits for none; where there are no slots,
/// nothing runs.
pub(super) fn fits(capacity: u32, held: u32, slots: u32) -> bool {
    let fits = u64::from(held) + u64::from(slots) <= u64::from(capacity);
    capacity > 0 && (fits || held == 0 || slots == 0)
}

/// A pool: its slots, how many are held, and who waits for one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pool {
    pub slots: u32,
    /// For how long a wait makes up for one class; none is strict order.
    pub ageing_ms: Option<i64>,
    pub held: u32,
    /// Those of the held ones that will come back without anybody's doing: their attempts were
    /// asked to stop, or have ended and their threads run on.
    pub leaving: u32,
    /// Live attempts that may be stopped in favour of a higher class.
    pub victims: BTreeMap<VictimKey, Victim>,
    groups: BTreeMap<Group, BTreeMap<QueueKey, TaskRunRef>>,
    /// The first of each group.
    heads: BTreeMap<QueueKey, Group>,
}

/// An attempt that may be stopped in favour of a higher class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    pub at: TaskRunRef,
    pub slots: u32,
    /// Where its task run will stand in the queue.
    pub key: QueueKey,
}

/// What those have in common that wait for the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub priority: u8,
    /// The limits, the narrowest first; none is no limit.
    pub claims: Option<Arc<[Claim]>>,
}

impl Group {
    pub fn claims(&self) -> &[Claim] {
        self.claims.as_deref().unwrap_or_default()
    }
}

/// What an attempt of a task takes of limits.
pub(super) fn claims_of(task: &PlannedTask) -> Option<Arc<[Claim]>> {
    let policy = &task.def.policy;
    // Most tasks have none, and this is asked at each change of a task run.
    let any = policy.max_active.is_some() || !policy.limits.is_empty();
    // What rests takes no slots of anything.
    let any = any && task.def.slots() > 0;
    any.then(|| policy.claims(task.task_id).into())
}

impl Pool {
    /// A pool of so many slots that nobody uses.
    pub fn of(slots: u32) -> Pool {
        Pool { slots, ..Pool::default() }
    }

    pub fn enqueue(&mut self, key: QueueKey, group: &Group, at: TaskRunRef) {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.clone(), BTreeMap::new());
        }
        let Some(queue) = self.groups.get_mut(group) else { return };
        let first = queue.first_key_value().map(|(first, _)| *first);
        queue.insert(key, at);
        if first.is_none_or(|first| key < first) {
            first.map(|first| self.heads.remove(&first));
            self.heads.insert(key, group.clone());
        }
    }

    pub fn dequeue(&mut self, key: QueueKey, group: &Group) {
        let Some(queue) = self.groups.get_mut(group) else { return };
        queue.remove(&key);
        let next = queue.first_key_value().map(|(next, _)| *next);
        if next.is_none() {
            self.groups.remove(group);
        }
        if let Some(known) = self.heads.remove(&key)
            && let Some(next) = next
        {
            self.heads.insert(next, known);
        }
    }

    /// How many of those who wait are before this place, as of this instant.
    pub fn ahead(&self, key: QueueKey, now: Instant) -> usize {
        let key = self.aged(key, now);
        let all = self.groups.values().flat_map(BTreeMap::keys);
        all.filter(|other| self.aged(**other, now) < key).count()
    }

    /// Whether nobody waits.
    pub fn is_idle(&self) -> bool {
        self.heads.is_empty()
    }

    /// A place in the queue with the class that its wait has earned.
    pub fn aged(&self, (priority, first, id): QueueKey, now: Instant) -> QueueKey {
        let step = self.ageing_ms.unwrap_or(0);
        (aged(priority, now.millis_since(first), step), first, id)
    }

    /// The heads of the groups, in lists that are each in order at any instant: one where the
    /// order is strict, and one a priority where it changes with time.
    fn lanes(&self) -> Vec<btree_map::Range<'_, QueueKey, Group>> {
        if self.ageing_ms.is_none() {
            return vec![self.heads.range(..)];
        }
        let mut lanes = Vec::new();
        let mut next = self.heads.first_key_value().map(|(key, _)| key.0);
        while let Some(priority) = next {
            let least = |priority| (priority, Instant(i64::MIN), TaskRunId(i64::MIN));
            lanes.push(self.heads.range(least(priority)..least(priority + 1)));
            next = self.heads.range(least(priority + 1)..).next().map(|(key, _)| key.0);
        }
        lanes
    }
}

/// A number of slots that dags share, or that a task has for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limit {
    /// How many slots there are; none of a task's own: as many as its definition says.
    pub slots: Option<u32>,
    pub held: u32,
}

impl Limit {
    /// How many slots there are for whoever claims some of them.
    pub fn capacity(&self, claim: &Claim) -> u32 {
        match (claim.most, self.slots) {
            (Some(most), Some(slots)) => most.min(slots),
            (most, slots) => most.or(slots).unwrap_or(0),
        }
    }
}

/// Those who wait, over all pools, in the order in which they may start.
pub(super) struct Waiting<'w> {
    now: Instant,
    pools: Vec<(&'w Option<String>, &'w Pool)>,
    lanes: Vec<(usize, btree_map::Range<'w, QueueKey, Group>)>,
    /// The first of each list that is not at its end; by the aged place.
    next: BTreeMap<QueueKey, Next<'w>>,
}

struct Next<'w> {
    candidate: Candidate<'w>,
    /// The list of heads it is from, or what follows it in its group.
    from: From<'w>,
}

enum From<'w> {
    Lane(usize),
    Group(btree_map::Range<'w, QueueKey, TaskRunRef>),
}

/// One who waits.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'w> {
    pub at: TaskRunRef,
    /// Its place as it was queued.
    key: QueueKey,
    /// Its place as of now.
    pub place: QueueKey,
    /// Its pool, by the position in the list of pools.
    pub pool: usize,
    pub group: &'w Group,
}

impl<'w> Waiting<'w> {
    pub fn new(pools: &'w BTreeMap<Option<String>, Pool>, now: Instant) -> Waiting<'w> {
        let pools: Vec<_> = pools.iter().filter(|(_, pool)| !pool.is_idle()).collect();
        let lanes = (0..).zip(&pools);
        let lanes = lanes.flat_map(|(nth, (_, pool))| {
            pool.lanes().into_iter().map(move |lane| (nth, lane)).collect::<Vec<_>>()
        });
        let lanes: Vec<_> = lanes.collect();
        let count = lanes.len();
        let mut waiting = Waiting { now, pools, lanes, next: BTreeMap::new() };
        (0..count).for_each(|lane| waiting.advance(lane));
        waiting
    }

    /// Name and pool at a position.
    pub fn pool(&self, nth: usize) -> (&'w Option<String>, &'w Pool) {
        self.pools[nth]
    }

    /// How many pools somebody waits for.
    pub fn pools(&self) -> usize {
        self.pools.len()
    }

    /// Puts the next head of a list among those that are looked at.
    fn advance(&mut self, lane: usize) {
        let Some((pool, heads)) = self.lanes.get_mut(lane) else { return };
        let pool = *pool;
        let Some((key, group)) = heads.next() else { return };
        let known = self.pools[pool].1;
        let Some(at) = known.groups.get(group).and_then(|queue| queue.get(key)) else { return };
        let place = known.aged(*key, self.now);
        let candidate = Candidate { at: *at, key: *key, place, pool, group };
        self.next.insert(place, Next { candidate, from: From::Lane(lane) });
    }

    /// The first who waits. It and its group are looked at no more, unless `follow` says so.
    pub fn pop(&mut self) -> Option<Popped<'w>> {
        let (_, Next { candidate, from }) = self.next.pop_first()?;
        let rest = match from {
            From::Lane(lane) => {
                self.advance(lane);
                None
            }
            From::Group(rest) => Some(rest),
        };
        Some(Popped { candidate, rest })
    }

    /// Those behind it in its group are looked at too.
    pub fn follow(&mut self, Popped { candidate, rest }: Popped<'w>) {
        let pool = self.pools[candidate.pool].1;
        let rest = rest.or_else(|| {
            let queue = pool.groups.get(candidate.group)?;
            Some(
                queue.range((std::ops::Bound::Excluded(candidate.key), std::ops::Bound::Unbounded)),
            )
        });
        let Some(mut rest) = rest else { return };
        let Some((key, at)) = rest.next() else { return };
        let place = pool.aged(*key, self.now);
        let candidate = Candidate { at: *at, key: *key, place, ..candidate };
        self.next.insert(place, Next { candidate, from: From::Group(rest) });
    }
}

/// One who was taken from those who wait.
pub(super) struct Popped<'w> {
    pub candidate: Candidate<'w>,
    rest: Option<btree_map::Range<'w, QueueKey, TaskRunRef>>,
}
