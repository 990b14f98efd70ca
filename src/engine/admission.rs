//! Who starts, and who is stopped for that: slots of pools, limits and tasks in strict order.
//!
//! A limit or pool that refuses somebody is closed to all behind, so that narrow ones never starve
//! a wide one. What does not need it goes on: a full limit holds up nobody else of the same pool,
//! and a full pool no other pool.

use std::collections::{BTreeMap, BTreeSet};

use super::queue::{Candidate, Pool, Victim, VictimKey, Waiting, fits};
use super::{TaskRunRef, World};
use crate::model::{Claim, Instant};

/// What may be done about slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Admission {
    /// These start, each in its pool.
    pub starts: Vec<(TaskRunRef, Option<String>)>,
    /// These are stopped: somebody of a higher class waits for their slots.
    pub victims: Vec<TaskRunRef>,
}

/// A pool while slots are handed out.
struct Room<'w> {
    pool: &'w Pool,
    /// Slots that are held or given away.
    held: u32,
    /// Nothing more starts; after that, slots that are held or promised and do not come back.
    promised: Option<u32>,
    /// Nobody behind can be helped.
    closed: bool,
    /// Who is stopped.
    chosen: BTreeMap<VictimKey, Victim>,
}

struct Hands<'w> {
    world: &'w World,
    /// Slots of limits that were given away here.
    given: BTreeMap<&'w str, u32>,
    /// Limits that refused somebody.
    full: BTreeSet<&'w str>,
}

impl World {
    /// Who starts now and who is stopped; only the first of them where that is all that is asked.
    pub(super) fn admission(&self, now: Instant, only_first: bool) -> Admission {
        let mut admission = Admission::default();
        if self.interrupting {
            return admission;
        }
        // What takes no slot stands in nobody's way.
        let light = self.light.iter().filter(|at| self.is_open(**at));
        admission.starts.extend(light.map(|at| (*at, self.pool_of(*at))));
        if only_first && !admission.starts.is_empty() {
            return admission;
        }
        let mut waiting = Waiting::new(&self.pools, now);
        let mut rooms: Vec<Room<'_>> = (0..waiting.pools())
            .map(|nth| {
                let pool = waiting.pool(nth).1;
                let held = pool.held;
                Room { pool, held, promised: None, closed: false, chosen: BTreeMap::new() }
            })
            .collect();
        let mut hands = Hands { world: self, given: BTreeMap::new(), full: BTreeSet::new() };
        while let Some(popped) = waiting.pop() {
            let candidate = popped.candidate;
            let room = &mut rooms[candidate.pool];
            let claims = candidate.group.claims();
            if room.closed || !hands.have(claims) {
                continue;
            }
            let slots = self.slots(candidate.at);
            if room.promised.is_none() && fits(room.pool.slots, room.held, slots) {
                room.held += slots;
                let name = waiting.pool(candidate.pool).0.clone();
                admission.starts.push((candidate.at, name));
            } else if !room.promise(&candidate, slots, now, &mut admission.victims) {
                room.closed = true;
                continue;
            }
            if only_first && !(admission.starts.is_empty() && admission.victims.is_empty()) {
                break;
            }
            hands.give(claims);
            waiting.follow(popped);
        }
        let spared: Vec<TaskRunRef> = rooms.iter().flat_map(Room::spared).collect();
        admission.victims.retain(|at| !spared.contains(at));
        admission
    }
}

impl<'w> Hands<'w> {
    /// Whether all these limits have the slots; the first that has not is closed.
    fn have(&mut self, claims: &'w [Claim]) -> bool {
        if claims.iter().any(|claim| self.full.contains(claim.limit.as_str())) {
            return false;
        }
        for claim in claims {
            let given = self.given.get(claim.limit.as_str()).copied().unwrap_or(0);
            let (capacity, held) = self.world.limit_for(claim);
            if !fits(capacity, held + given, claim.slots) {
                self.full.insert(&claim.limit);
                return false;
            }
        }
        true
    }

    fn give(&mut self, claims: &'w [Claim]) {
        for claim in claims {
            *self.given.entry(&claim.limit).or_default() += claim.slots;
        }
    }
}

impl Room<'_> {
    /// Those who need not be stopped, because whoever was chosen for a later one frees more than
    /// that one needs: the highest and oldest first.
    fn spared(&self) -> Vec<TaskRunRef> {
        let mut promised = self.promised.unwrap_or(0);
        let mut spared = Vec::new();
        for victim in self.chosen.values().rev() {
            if promised + victim.slots <= self.pool.slots {
                promised += victim.slots;
                spared.push(victim.at);
            }
        }
        spared
    }

    /// Keeps slots that will come back for one who waits, and stops whom it takes to have enough.
    /// False where that cannot be had; nobody is stopped in vain.
    fn promise(
        &mut self,
        waits: &Candidate<'_>,
        slots: u32,
        now: Instant,
        victims: &mut Vec<TaskRunRef>,
    ) -> bool {
        let pool = self.pool;
        if pool.slots == 0 || pool.leaving == 0 && pool.victims.is_empty() {
            return false;
        }
        let promised = self.promised.unwrap_or(self.held.saturating_sub(pool.leaving));
        let enough = |freed: u32| fits(pool.slots, promised.saturating_sub(freed), slots);
        let mut freed = 0;
        let mut taken: Vec<(VictimKey, Victim)> = Vec::new();
        let mut willing = pool.victims.iter().filter(|(key, victim)| {
            let lower = victim.key.0 > waits.group.priority;
            // Its own wait may have earned the victim a place before whoever wants its slot.
            lower && pool.aged(victim.key, now) > waits.place && !self.chosen.contains_key(key)
        });
        while !enough(freed) {
            let Some((key, victim)) = willing.next() else { return false };
            freed += victim.slots;
            taken.push((*key, *victim));
        }
        // A wide one that was taken late may make narrow ones needless: they are spared, the
        // highest and oldest first.
        for nth in (0..taken.len()).rev() {
            let less = freed - taken[nth].1.slots;
            if enough(less) {
                freed = less;
                taken.remove(nth);
            }
        }
        victims.extend(taken.iter().map(|(_, victim)| victim.at));
        self.chosen.extend(taken);
        self.promised = Some(promised.saturating_sub(freed) + slots);
        true
    }
}
