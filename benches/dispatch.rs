//! What it costs to start the next of a long queue: 100,000 ready task runs in 100 groups (ten
//! priorities by ten limits), one slot, each start followed by its end. Beside it a pop from a plain
//! map of as many places. The cost of a start should not grow with the queue, and what a full limit
//! holds back should cost nothing.
//!
//! `cargo bench --no-default-features --bench dispatch`

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant as Clock;

use mainspring::engine::{Event, NewRun, Plan, PlannedTask, Report, World, apply, decide};
use mainspring::model::{
    AttemptRecord, DagId, Date, Instant, NodeId, Outcome, ScopeId, SpecError, TaskDef, TaskId,
    TaskPolicy, TaskVersionId, Trigger,
};

const NOW: Instant = Instant::from_secs(1_000_000);
/// Starts that are measured.
const STARTS: u32 = 900;

fn plan(count: u32) -> Result<Arc<Plan>, SpecError> {
    let tasks = (0..count).filter_map(|nth| {
        let policy = TaskPolicy {
            priority: (nth % 10) as u8,
            limits: [(format!("l{}", nth / 10 % 10), 1)].into(),
            ..TaskPolicy::default()
        };
        let text = serde_json::json!({"name": format!("t{nth}"), "type": "noop", "policy": policy});
        let def: TaskDef = serde_json::from_value(text).ok()?;
        let (task_id, version_id) = (TaskId(i64::from(nth)), TaskVersionId(i64::from(nth)));
        Some(PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true })
    });
    Plan::build(DagId(1), "d", tasks.collect()).map(Arc::new)
}

fn happen(world: &mut World, event: &Event) -> Option<mainspring::engine::Decision> {
    let decision = decide(world, event, NOW).ok()?;
    apply(world, &decision).ok()?;
    Some(decision)
}

/// A world in which so many are ready; of the limits only the first `open` have slots.
fn world(count: u32, open: u32) -> Option<World> {
    let plan = plan(count).ok()?;
    let mut world = World::new((1, 1), 1, NodeId(1), ScopeId(1));
    for nth in 0..10 {
        let slots = Some(if nth < open { 1_000_000 } else { 0 });
        happen(&mut world, &Event::LimitSized { limit: format!("l{nth}"), slots })?;
    }
    let run = NewRun {
        plan,
        nominal_at: NOW,
        biz_date: Date(10),
        interval: (NOW, NOW),
        timezone: "UTC".into(),
        trigger: Trigger::Manual,
        task: None,
        timed: false,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params: serde_json::Map::new(),
        schedules: Vec::new(),
        only: None,
        force: false,
    };
    happen(&mut world, &Event::CreateRun(run))?;
    Some(world)
}

/// Nanoseconds a start takes, its end included.
fn starts(count: u32, open: u32) -> Option<f64> {
    let mut world = world(count, open)?;
    let begin = Clock::now();
    for _ in 0..STARTS {
        let decision = happen(&mut world, &Event::Dispatch)?;
        let start = decision.starts.first()?;
        let report = Report {
            at: start.at,
            attempt_no: start.attempt.attempt_no,
            token: start.attempt.token,
            outcome: Outcome::Success,
            result: None,
            result_uri: None,
            record: AttemptRecord::default(),
            texts: None,
            released: true,
        };
        happen(&mut world, &Event::AttemptEnded(report))?;
    }
    Some(begin.elapsed().as_nanos() as f64 / f64::from(STARTS))
}

/// Nanoseconds that a pop from a map of as many places takes, the put that made it included.
fn pops(count: u32) -> f64 {
    let mut map: BTreeMap<(u8, i64, i64), u32> =
        (0..count).map(|nth| (((nth % 10) as u8, 0, i64::from(nth)), nth)).collect();
    let begin = Clock::now();
    for nth in 0..STARTS {
        black_box(map.pop_first());
        map.insert((9, 0, i64::from(count + nth)), nth);
    }
    begin.elapsed().as_nanos() as f64 / f64::from(STARTS)
}

fn best(mut work: impl FnMut() -> Option<f64>) -> f64 {
    (0..5).filter_map(|_| work()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let small = best(|| starts(1_000, 10));
    for count in [1_000, 10_000, 100_000] {
        let (start, pop) = (best(|| starts(count, 10)), best(|| Some(pops(count))));
        println!(
            "{count} ready in 100 groups: {start:.0} ns a start and end, {:.2}x of 1,000; \
             {:.1}x of a pop and put of a plain map ({pop:.0} ns)",
            start / small,
            start / pop,
        );
    }
    let parked = best(|| starts(100_000, 1));
    println!("90,000 of 100,000 held back by full limits: {parked:.0} ns, {:.2}x", parked / small);
}
