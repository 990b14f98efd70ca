//! What 100,000 schedules cost: at rest, and all at once.
//!
//! Run with `cargo bench --no-default-features --features runtime --bench schedules`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark has nobody to report to")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant as Clock};

use mainspring::engine::{Event, Scheduled, Served, World, apply, check_definition, decide};
use mainspring::model::{
    DagDef, DagId, Instant, NodeId, Period, PeriodKind, ScheduleDef, ScheduleId, ScopeId,
    StopReason, Target, TimeRule,
};
use mainspring::runtime::{Interpreter, Session, SessionOptions, StopHandle};
use serde_json::json;

/// 2024-01-15T00:00:00Z.
const START: Instant = Instant(1_705_276_800_000_000);
const HOUR: i64 = 3_600_000;

fn dag(number: i64, expression: &str) -> DagDef {
    let name = format!("d{number}");
    let tasks = json!([{"name": "load", "type": "noop"}]);
    let spec = json!({"name": name, "tasks": tasks, "schedule": {"expression": expression}});
    check_definition(&spec).unwrap()
}

/// A world in which so many schedules fire, each once a day, spread over the day.
fn world(count: i64) -> World {
    let mut world = World::new((1, 1), 8, NodeId(1), ScopeId(1));
    for number in 1..=count {
        let (dag_id, id) = (DagId(number), ScheduleId(number));
        let rule = TimeRule::new(format!("{} {} * * *", number % 60, number / 60 % 24), "UTC");
        let def = ScheduleDef::new("default", rule.clone());
        let mut header = dag(number, "@daily");
        header.tasks.clear();
        let served = Served::new(dag_id, &header, &[], &[], &[(id, def.clone())]).unwrap();
        let bindings = vec![(Target { dag: dag_id, task: None }, BTreeMap::new())];
        let period = Period { from: START, until: None, kind: PeriodKind::Active, rule };
        let schedule =
            Scheduled::new(id, dag_id, &header.key, def, bindings, START, &[period]).unwrap();
        world.serve(served, vec![schedule]);
    }
    world
}

fn at_rest(count: i64) -> (f64, f64) {
    let mut world = world(count);
    let asked = 1_000_000;
    let clock = Clock::now();
    for _ in 0..asked {
        black_box(black_box(&world).next_wake());
    }
    let wake = clock.elapsed().as_secs_f64() / f64::from(asked);
    let fired = 10_000;
    let clock = Clock::now();
    for _ in 0..fired {
        let now = world.next_wake().unwrap();
        let schedule = world.next_schedule_due(now).unwrap();
        let decision = decide(&world, &Event::ScheduleDue(schedule), now).unwrap();
        apply(&mut world, &decision).unwrap();
        for create in &decision.creates {
            world.forget(create.row.id);
        }
    }
    (wake * 1e9, clock.elapsed().as_secs_f64() / f64::from(fired) * 1e6)
}

struct Nobody;

impl Interpreter for Nobody {
    fn stop(&self, _: &StopHandle, _: StopReason) {}
}

/// So many dags of one task that does nothing, all due in the same second.
fn at_once(count: i64) -> (Duration, Duration) {
    let folder = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let database: PathBuf = folder.join("bench.db");
    let (clock, hand) = mainspring::runtime::Clock::test(START);
    let options = SessionOptions {
        database,
        files: None,
        role: "bench".into(),
        host: "here".into(),
        slots: 100_000,
        busy_wait: Duration::from_secs(60),
        clock,
        leads: Some("schedules".into()),
        durable: true,
        logs: mainspring::runtime::LogOptions::default(),
    };
    let session = Session::open(options, Arc::new(Nobody)).unwrap();
    let dags: Vec<DagDef> = (1..=count).map(|number| dag(number, "0 1 * * *")).collect();
    session.register(&dags).unwrap();
    let serving = Clock::now();
    let host = || Arc::new(()) as mainspring::runtime::HandlerHost;
    session.serve(dags.iter().map(|dag| (dag.key.clone(), host())).collect()).unwrap();
    let serving = serving.elapsed();
    let firing = Clock::now();
    let hand: &AtomicI64 = &hand;
    session.advance(hand, START.plus_millis(HOUR), &mut || true).unwrap();
    let firing = firing.elapsed();
    let runs = mainspring::store::SqliteStore::open(
        folder.join("bench.db"),
        mainspring::store::SqliteOptions::default(),
    );
    let filter = mainspring::store::RunFilter::default();
    let made = mainspring::store::Store::runs(&mut runs.unwrap(), &filter).unwrap();
    assert_eq!(made.len() as i64, count);
    assert!(made.iter().all(|run| run.row.finished_at.is_some()));
    drop(session);
    let _ = std::fs::remove_dir_all(&folder);
    (serving, firing)
}

fn main() {
    for count in [1_000, 100_000] {
        let (wake, fire) = at_rest(count);
        println!("{count:>7} schedules: next_wake {wake:.1} ns, a fire decided {fire:.1} us");
    }
    let count = 10_000;
    let (serving, firing) = at_once(count);
    println!(
        "{count:>7} at one second: taken up in {:.2} s; decided, committed and run to their ends \
         in {:.2} s, {:.0} fires/s",
        serving.as_secs_f64(),
        firing.as_secs_f64(),
        count as f64 / firing.as_secs_f64()
    );
}
