//! How long a plan will take, by how long its tasks took before.
//!
//! The runs are started in their order, so many at once as may be open, each when those that it
//! waits for have ended. A run takes as long as its longest way from task to task. No pool or limit
//! does more work than it has slots for. Twice: with the median of each task, and with the duration
//! that nine of ten of its attempts kept to, as on a day on which everything is slow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Refused;
use super::facts::Past;
use super::order::Waits;
use super::planner::Planner;
use crate::model::{BackfillPlan, Estimate, TaskDef, TaskSet};

/// So many attempts of a task are looked at.
const ATTEMPTS: u32 = 100;

impl<P: Past> Planner<'_, P> {
    /// `shown` has the tasks of the plan by their numbers on the board.
    pub(super) fn estimate(
        &mut self,
        plan: &BackfillPlan,
        shown: &[u32],
        waits: &Waits,
        order: &[(u32, u32)],
    ) -> Result<Estimate, Refused<P::Error>> {
        let mut usual = vec![0; shown.len()];
        let mut slow = vec![0; shown.len()];
        let (mut unknown, mut known) = (Vec::new(), false);
        let mut is_in = vec![false; shown.len()];
        plan.sets.iter().flat_map(|set| &set.tasks).for_each(|task| is_in[*task as usize] = true);
        for (number, task) in (0u32..).zip(shown).filter(|(number, _)| is_in[*number as usize]) {
            let mut took = self.durations(*task, ATTEMPTS)?;
            took.sort_unstable();
            let at = |tenths: usize| took.get(took.len() * tenths / 10).copied();
            match (at(5), at(9)) {
                (Some(half), Some(most)) => {
                    known = true;
                    (usual[number as usize], slow[number as usize]) = (half, most);
                }
                _ => unknown.push(number),
            }
        }
        let total = |took: &[i64]| {
            let sets: Vec<i64> =
                plan.sets.iter().map(|set| self.longest_way(set, shown, took)).collect();
            let of_run = |run: u32| {
                let planned = plan.runs.get(run as usize);
                planned.and_then(|run| sets.get(run.set as usize)).copied().unwrap_or(0)
            };
            let wall = waits.wall(order, &of_run, plan.ask.max_active as usize);
            wall.max(self.busiest(plan, shown, took))
        };
        let (p50, p90) = (total(&usual), total(&slow));
        Ok(Estimate { p50_ms: known.then_some(p50), p90_ms: known.then_some(p90), unknown })
    }

    /// How long a run of a set takes.
    fn longest_way(&self, set: &TaskSet, shown: &[u32], took: &[i64]) -> i64 {
        let mut tasks: Vec<(u32, u32, u32)> = set
            .tasks
            .iter()
            .filter_map(|number| {
                let task = *shown.get(*number as usize)?;
                Some((self.board.nodes[task as usize].rank, task, *number))
            })
            .collect();
        tasks.sort_unstable();
        let mut ends: BTreeMap<u32, i64> = BTreeMap::new();
        for (_, task, number) in tasks {
            let ups = self.board.nodes[task as usize].here_up.iter();
            let begin = ups.filter_map(|up| ends.get(up)).max().copied().unwrap_or(0);
            ends.insert(task, begin + took[number as usize]);
        }
        ends.into_values().max().unwrap_or(0)
    }

    /// How long the pool or limit is busy that has most to do for its slots.
    fn busiest(&self, plan: &BackfillPlan, shown: &[u32], took: &[i64]) -> i64 {
        let mut runs = vec![0i64; plan.sets.len()];
        plan.runs.iter().for_each(|run| runs[run.set as usize] += 1);
        let mut work: BTreeMap<String, i64> = BTreeMap::new();
        for (set, count) in plan.sets.iter().zip(runs) {
            for number in &set.tasks {
                let Some(task) = shown.get(*number as usize) else { continue };
                let takes = claims(&self.board.nodes[*task as usize].task.def);
                for (name, slots) in takes {
                    let each = took[*number as usize].saturating_mul(i64::from(slots));
                    *work.entry(name).or_default() += each.saturating_mul(count);
                }
            }
        }
        let busy = work.into_iter().filter_map(|(name, work)| {
            let slots = i64::from(*self.facts.slots.get(&name)?);
            let is_pool = !name.starts_with(LIMIT);
            let percent = if is_pool { i64::from(plan.ask.share) } else { 100 };
            Some(work / (slots * percent).div_euclid(100).max(1))
        });
        busy.max().unwrap_or(0)
    }
}

/// What stands before the name of a limit among pools.
const LIMIT: &str = "limit:";

/// What a task takes of named pools and limits.
fn claims(def: &TaskDef) -> Vec<(String, u32)> {
    let pool = def.policy.pool.iter().map(|pool| (pool.clone(), def.slots()));
    let limits = def.policy.limits.iter();
    pool.chain(limits.map(|(name, slots)| (format!("{LIMIT}{name}"), *slots))).collect()
}

impl Waits {
    /// When the last run ends, if so many are open at once and each takes so long.
    pub(super) fn wall(&self, order: &[(u32, u32)], took: &dyn Fn(u32) -> i64, open: usize) -> i64 {
        let (below, mut waiting) = self.below();
        let mut ready = vec![0i64; waiting.len()];
        let mut places: BinaryHeap<Reverse<i64>> = (0..open).map(|_| Reverse(0)).collect();
        let mut last = 0;
        for (place, (run, _)) in (0u32..).zip(order) {
            let free = places.pop().map_or(0, |Reverse(at)| at);
            let end = free.max(ready[*run as usize]) + took(place);
            places.push(Reverse(end));
            last = last.max(end);
            let mut ended = vec![(*run, end)];
            while let Some((node, end)) = ended.pop() {
                for down in below.of(node) {
                    let down = *down as usize;
                    ready[down] = ready[down].max(end);
                    waiting[down] = waiting[down].saturating_sub(1);
                    if waiting[down] == 0 && self.is_knot(down as u32) {
                        ended.push((down as u32, ready[down]));
                    }
                }
            }
        }
        last
    }
}
