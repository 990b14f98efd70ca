//! What a seed makes: dags, policies, and which faults there are at what rates.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::Plan;
use mainspring::model::{
    Backoff, Deadline, EdgeKind, Mapping, NotBefore, OnDeadline, Over, RunDays, RunOn, TaskDef,
    TaskPolicy,
};

use super::rng::Rng;
use crate::engine::bench::{of_kind, plan, task};

/// The limits of every world.
pub const LIMITS: [&str; 2] = ["x", "y"];

/// Rates in thousandths; a kind of fault that is off in this world has 0.
pub struct Rates {
    pub fail: u64,
    pub lost: u64,
    pub silent: u64,
    pub twice: u64,
    pub late: u64,
    pub hung: u64,
    pub deaf: u64,
    pub cancel: u64,
    pub rerun: u64,
    pub interrupt: u64,
    pub crash: u64,
    pub resize: u64,
}

impl Rates {
    /// Swarm: each kind is on in half of the worlds, at a rate drawn over several magnitudes.
    pub fn new(rng: &mut Rng) -> Rates {
        let mut rate = |most: u64| match rng.chance(500) {
            true => most >> rng.below(5),
            false => 0,
        };
        Rates {
            fail: rate(400),
            lost: rate(200),
            silent: rate(100),
            twice: rate(300),
            late: rate(200),
            hung: rate(200),
            deaf: rate(800),
            cancel: rate(30),
            rerun: rate(250),
            interrupt: rate(10),
            crash: rate(20),
            resize: rate(30),
        }
    }
}

pub fn random_plan(rng: &mut Rng) -> Arc<Plan> {
    let most = if rng.chance(300) { 60 } else { 12 };
    let count = 1 + rng.below(most);
    let mut tasks = Vec::new();
    let (mut edges, mut kinds) = (Vec::new(), Vec::new());
    for index in 0..count as u32 {
        let mut policy = policy(rng);
        // Plans are versions of one dag here: each task has its number, where it has one.
        policy.max_active = rng.chance(100).then_some(1 + index % 2);
        let mut made = task(&format!("t{index}"), policy);
        made = match rng.below(100) {
            0..8 => of_kind(made, "gate", None),
            8..18 => of_kind(made, "probe", Some(500 + rng.below(6) as i64 * 500)),
            _ => made,
        };
        let wanted = rng.below(4).min(u64::from(index));
        let mut ups: Vec<u32> = (0..wanted).map(|_| rng.below(u64::from(index)) as u32).collect();
        ups.sort_unstable();
        ups.dedup();
        if made.def.slots() > 0 && rng.chance(if index == 0 { 60 } else { 160 }) {
            let over = match (ups.first(), rng.below(3)) {
                (Some(up), 0 | 1) => Over::Result(format!("t{up}")),
                (_, 2) => Over::Shards(1 + rng.below(4) as u32),
                _ => Over::Items((0..rng.below(5)).map(|n| n.into()).collect()),
            };
            let max_active = rng.chance(400).then(|| 1 + rng.below(3) as u32);
            let map = Some(Mapping { argument: Some("x".into()), over, max_active });
            made.def = Arc::new(TaskDef { map, ..(*made.def).clone() });
        }
        tasks.push(made);
        for up in ups {
            edges.push((up, index));
            let rare = [EdgeKind::Completed, EdgeKind::Weak, EdgeKind::DataReady];
            let listing = tasks.last().and_then(|task| task.def.map.as_ref());
            let listing = listing.is_some_and(|map| map.over == Over::Result(format!("t{up}")));
            kinds.push(if !listing && rng.chance(200) {
                *rng.pick(&rare)
            } else {
                EdgeKind::Success
            });
        }
    }
    plan(tasks, &edges, kinds)
}

/// Days by text, of the business date or not, and whether a run of these worlds is on one of
/// them: all are for Monday, 1970-01-12, and their business date is the Sunday before.
pub const DAYS: &[(&str, bool, bool)] = &[
    ("weekdays", false, true),
    ("weekends", false, false),
    ("MON,WED", false, true),
    ("TUE", false, false),
    ("12", false, true),
    ("1,15", false, false),
    ("46 * * * *", false, true),
    ("47 * * * *", false, false),
    ("weekends", true, true),
    ("weekdays", true, false),
    ("11", true, true),
    ("last day of month", true, false),
];

/// A time of day near to the instant of the runs, by one of the clocks of these worlds.
fn not_before(rng: &mut Rng) -> NotBefore {
    let hour = *rng.pick(&[13, 21]);
    let second = hour * 3_600 + 46 * 60 + 30 + rng.below(30) as u32;
    NotBefore { days: if rng.chance(50) { 1 } else { 0 }, second }
}

fn run_on(rng: &mut Rng) -> RunOn {
    let (text, biz_date, _) = *rng.pick(DAYS);
    RunOn { days: RunDays::Rule(text.into()), biz_date }
}

fn policy(rng: &mut Rng) -> TaskPolicy {
    let idempotent = rng.chance(900);
    TaskPolicy {
        max_attempts: idempotent.then(|| 1 + rng.below(4) as u32),
        max_losses: rng.below(4) as u32,
        retry_interval_ms: rng.below(8) as i64 * 500,
        retry_backoff: *rng.pick(Backoff::ALL),
        retry_cap_ms: 6_000,
        retry_jitter_permille: if rng.chance(300) { 250 } else { 0 },
        retry_on: rng.chance(200).then(|| vec![(*rng.pick(&["ERROR", "TIMEOUT", "X"])).into()]),
        timeout_ms: rng.chance(400).then(|| 1_000 + rng.below(8_000) as i64),
        grace_ms: rng.below(3) as i64 * 700,
        idempotent,
        priority: rng.below(10) as u8,
        pool: rng.chance(400).then(|| "p".into()),
        slots: if rng.chance(100) { 1 + rng.below(6) as u32 } else { 1 },
        not_before: rng.chance(150).then(|| not_before(rng)),
        run_on: rng.chance(100).then(|| run_on(rng)),
        preemptible: rng.chance(400),
        limits: limits(rng),
        deadline: rng.chance(150).then(|| after(rng)),
        on_deadline: *rng.pick(OnDeadline::ALL),
        block_timeout_ms: rng.chance(150).then(|| 500 + rng.below(6_000) as i64),
        ..TaskPolicy::default()
    }
}

fn limits(rng: &mut Rng) -> BTreeMap<String, u32> {
    let names = LIMITS.iter().filter(|_| rng.chance(80)).collect::<Vec<_>>();
    names.into_iter().map(|name| ((*name).to_owned(), 1 + rng.below(2) as u32)).collect()
}

fn after(rng: &mut Rng) -> Deadline {
    Deadline::After { after_ms: 1_000 + rng.below(30_000) as i64 }
}
