//! Pools and limits that processes share: how large they are, and what is left when others use
//! them too.
//!
//! The world knows what this process holds. What others hold is found out by the commit, which
//! counts again; what it refuses is made smaller here for a while.

use std::collections::BTreeMap;

use super::Driver;
use crate::engine::{Event, apply, decide};
use crate::model::Instant;
use crate::runtime::turn::Turn;

/// How often what other processes filled is tried again, in milliseconds.
const RECHECK_MS: i64 = 500;

/// A number of slots that processes share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gate {
    /// A named pool.
    Pool(String),
    /// A limit: a named one, or what a task has for itself.
    Limit(String),
}

/// What the driver knows of them.
#[derive(Default)]
pub(super) struct Shared {
    pools: BTreeMap<String, u32>,
    limits: BTreeMap<String, u32>,
    /// Pools whose queue ages.
    ageing: BTreeMap<String, i64>,
    /// For how long a wait makes up for one class where a pool does not say.
    default_ageing: Option<i64>,
    /// What was found full in this turn, with the slots that it has for us meanwhile.
    full: BTreeMap<Gate, u32>,
    /// When what others filled is tried again.
    pub(super) recheck_at: Option<Instant>,
}

impl Shared {
    /// The next turn tries what this one found full.
    pub(super) fn begin_turn(&mut self) {
        self.full.clear();
    }

    fn step_of(&self, pool: Option<&String>) -> Option<i64> {
        pool.and_then(|pool| self.ageing.get(pool)).copied().or(self.default_ageing)
    }
}

impl Driver {
    /// Other processes hold slots too: what is left is ours, for a while. When even that does not
    /// fit, nothing of ours starts there until we look again.
    pub(super) fn close(&mut self, gate: Gate, free: u32) {
        let held = match &gate {
            Gate::Pool(pool) => self.world.pool(Some(pool)).map_or(0, |(_, held)| held),
            Gate::Limit(limit) => self.world.limit(limit).map_or(0, |(_, held)| held),
        };
        let slots = if self.shared.full.contains_key(&gate) { held } else { held + free };
        self.shared.full.insert(gate.clone(), slots);
        self.size(gate, Some(slots));
        self.shared.recheck_at = Some(self.clock.now().plus_millis(RECHECK_MS));
    }

    fn size(&mut self, gate: Gate, slots: Option<u32>) {
        self.tell_world(&match gate {
            Gate::Pool(pool) => {
                Event::PoolSized { pool: Some(pool), slots: slots.unwrap_or_default() }
            }
            Gate::Limit(limit) => Event::LimitSized { limit, slots },
        });
    }

    /// What takes no arrow and is in no row: there is nothing to be broken or written.
    fn tell_world(&mut self, event: &Event) {
        if let Ok(decision) = decide(&self.world, event, self.clock.now()) {
            let _ = apply(&mut self.world, &decision);
        }
    }

    /// Learns the sizes of what is shared; as known as they were where they cannot be read.
    pub(super) fn read_slots(&mut self) {
        for (pool, (slots, _)) in self.store.pools().unwrap_or_default() {
            if self.shared.pools.insert(pool.clone(), slots) != Some(slots) {
                self.size(Gate::Pool(pool), Some(slots));
            }
        }
        for (limit, (slots, _)) in self.store.limits().unwrap_or_default() {
            if self.shared.limits.insert(limit.clone(), slots) != Some(slots) {
                self.size(Gate::Limit(limit), Some(slots));
            }
        }
        if let Ok(ageing) = self.store.ageing()
            && ageing != self.shared.ageing
        {
            self.shared.ageing = ageing;
            self.let_age();
        }
    }

    /// A named pool has so many slots.
    pub(super) fn pool_sized(&mut self, pool: String, slots: u32) {
        self.shared.pools.insert(pool.clone(), slots);
        self.size(Gate::Pool(pool), Some(slots));
        // One that was not there before is asked how it ages.
        self.let_age();
    }

    /// A limit has so many slots.
    pub(super) fn limit_sized(&mut self, limit: String, slots: u32) {
        self.shared.limits.insert(limit.clone(), slots);
        self.size(Gate::Limit(limit), Some(slots));
    }

    /// The queue of a pool ages from now on, or of all pools that do not say how.
    pub(super) fn pool_ages(&mut self, pool: Option<String>, step_ms: Option<i64>) {
        match (pool, step_ms) {
            (None, step_ms) => self.shared.default_ageing = step_ms,
            (Some(pool), Some(step_ms)) => drop(self.shared.ageing.insert(pool, step_ms)),
            (Some(pool), None) => drop(self.shared.ageing.remove(&pool)),
        }
        self.let_age();
    }

    fn let_age(&mut self) {
        let named = self.shared.pools.keys().cloned().map(Some);
        for pool in named.chain([None]).collect::<Vec<_>>() {
            let step_ms = self.shared.step_of(pool.as_ref());
            self.tell_world(&Event::PoolAges { pool, step_ms });
        }
    }

    /// Gives everything its full size back, to see whether others have let go.
    pub(super) fn reopen_slots(&mut self, turn: &mut Turn, now: Instant) {
        if self.shared.recheck_at.is_none_or(|at| at > now) || !self.shared.full.is_empty() {
            return;
        }
        self.shared.recheck_at = None;
        for (pool, slots) in self.shared.pools.clone() {
            self.decide(&Event::PoolSized { pool: Some(pool), slots }, turn, now);
        }
        for limit in self.world.limit_names() {
            let slots = self.shared.limits.get(&limit).copied();
            self.decide(&Event::LimitSized { limit, slots }, turn, now);
        }
    }

    /// Tells a world that was read anew what is known of slots.
    pub(super) fn size_all(&mut self) {
        for (pool, slots) in self.shared.pools.clone() {
            self.size(Gate::Pool(pool), Some(slots));
        }
        for (limit, slots) in self.shared.limits.clone() {
            self.size(Gate::Limit(limit), Some(slots));
        }
        self.let_age();
        // Else two that others filled would be found full in turns, for ever.
        for (gate, slots) in self.shared.full.clone() {
            self.size(gate, Some(slots));
        }
    }
}
