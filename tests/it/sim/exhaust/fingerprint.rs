//! What of a state decides its future, as a number.
//!
//! Left out is what only grows (tokens, revisions, attempt numbers, ids of processes) and what is
//! only told (when something started and ended). Times are relative to now; of what is overdue and of
//! first READY times only the order counts. What the world derives is left out too: `check` finds it
//! equal to what is read from the rows.

use mainspring::engine::{Live, World};
use mainspring::model::{Instant, Progress};

use super::acts::{Bound, Small};
use super::node::Node;

/// Mixes words into a number; two states that differ have the same one once in 2^64.
struct Mix(u64);

impl Mix {
    fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ (mixed >> 31);
    }

    fn text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.add(u64::MAX) };
        self.add(text.len() as u64);
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
    }
}

/// Instants as they look from now: first READY times in their order, timers by how long until then
/// and in their order where they are overdue.
struct Times {
    now: Instant,
    firsts: Vec<Instant>,
    /// Those that are overdue, and now.
    dues: Vec<Instant>,
    /// Tokens of live attempts, and now: a lease that is read back has its times from its token.
    tokens: Vec<Instant>,
}

impl Times {
    fn of(world: &World, now: Instant) -> Times {
        let (mut firsts, mut dues, mut tokens) = (vec![now], vec![now], vec![now]);
        for task_run in world.runs().flat_map(|run| run.task_runs()) {
            firsts.extend(task_run.progress.first_ready_at);
            let live = task_run.live.iter().filter(|live| !live.ended);
            tokens.extend(live.clone().map(|live| Instant(live.token.0)));
            let timer = live.filter_map(|live| live.stop.map(|s| s.give_up_at).or(live.timeout_at));
            let timers = timer.chain(task_run.progress.wake_at);
            dues.extend(timers.filter(|timer| *timer < now));
        }
        for times in [&mut firsts, &mut dues, &mut tokens] {
            times.sort_unstable();
            times.dedup();
        }
        Times { now, firsts, dues, tokens }
    }

    fn until(&self, at: Option<Instant>) -> u64 {
        let Some(at) = at else { return u64::MAX };
        match self.dues.binary_search(&at) {
            Ok(place) => (1 << 62) + (self.dues.len() - place) as u64,
            Err(_) => (at - self.now) as u64,
        }
    }

    fn first(&self, at: Option<Instant>) -> u64 {
        let place = at.and_then(|at| self.firsts.binary_search(&at).ok());
        place.map_or(u64::MAX, |place| place as u64)
    }
}

pub fn of(small: &Small, node: &Node) -> u64 {
    let mut mix = Mix(0);
    mix.add(u64::from(node.troubles));
    node.left.iter().for_each(|left| mix.add(u64::from(*left.min(&node.troubles))));
    node.made.iter().for_each(|made| mix.add(*made as u64));
    mix.add(u64::from(node.world.interrupting()));
    for (pool, slots) in &node.truth.pools {
        mix.text(pool.as_deref());
        mix.add(u64::from(*slots));
    }
    let times = Times::of(&node.world, node.now);
    mix.add(times.firsts.len() as u64);
    for stored in node.rows.runs.values() {
        mix.add(stored.row.dag_id.0 as u64);
        mix.add(stored.row.biz_date.0 as u64);
        mix.add(stored.row.state as u64);
        mix.add(u64::from(stored.cancel_requested));
        let run = node.world.run(stored.row.id);
        mix.add(u64::from(run.is_some()));
        for (index, row) in (0u32..).zip(stored.task_runs.values()) {
            progress(&mut mix, &row.progress, &times);
            // The next token is this moment, but for an attempt that has started at it already.
            if node.left(Bound::Reread) > 0 {
                mix.add((row.progress.token.0 + 1 - node.now.0).max(0) as u64);
            }
            let task_run = run.and_then(|run| run.get(index));
            match task_run.and_then(|task_run| task_run.live.as_ref()) {
                Some(live) => lease(&mut mix, live, node, &times),
                None => mix.add(0),
            }
            let at = mainspring::engine::TaskRunRef { run: stored.row.id, index };
            mix.add(u64::from(node.gone.contains_key(&at) && node.left(Bound::Late) > 0));
            mix.add(u64::from(node.canceled.0.contains(&at)));
        }
    }
    if small.first.is_some() {
        for key in node.world.unread_cells() {
            mix.text(Some(&key.upstream));
            mix.text(Some(&format!("{:?}", key.at)));
        }
    }
    mix.0
}

/// The set of states that a state can go to.
pub fn of_all(mut prints: Vec<u64>) -> u64 {
    prints.sort_unstable();
    prints.dedup();
    let mut mix = Mix(0);
    prints.into_iter().for_each(|print| mix.add(print));
    mix.0
}

fn progress(mix: &mut Mix, progress: &Progress, times: &Times) {
    mix.add(progress.state as u64);
    mix.add(u64::from(progress.attempt_no - progress.rerun_base));
    mix.add(u64::from(progress.errors_used));
    mix.add(u64::from(progress.losses_used));
    mix.add(u64::from(progress.preemptions_used));
    mix.add(u64::from(progress.stale));
    mix.add(progress.blocked_by.map_or(0, |root| root.0 as u64));
    mix.add(times.until(progress.wake_at));
    mix.add(times.first(progress.first_ready_at));
    mix.text(progress.code.as_deref());
    mix.text(progress.result.as_deref());
}

fn lease(mix: &mut Mix, live: &Live, node: &Node, times: &Times) {
    mix.add(1 + u64::from(live.ended));
    if live.ended {
        return;
    }
    match live.stop {
        Some(stop) => {
            mix.add(1 + stop.reason as u64);
            mix.add(times.until(Some(stop.give_up_at)));
        }
        None => {
            mix.add(0);
            mix.add(times.until(live.timeout_at));
        }
    }
    if node.left(Bound::Reread) > 0 {
        let place = times.tokens.binary_search(&Instant(live.token.0));
        mix.add(place.map_or(0, |place| (times.tokens.len() - place) as u64));
        mix.add(live.timeout_at.map_or(0, |_| (live.token.0 - live.started_at.0) as u64));
    }
}
