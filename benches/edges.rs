//! What edges cost in the engine: one to another dag, a fan-in of ten thousand, and a repair that
//! lets a hundred thousand go.
//!
//! Run with `cargo bench --no-default-features --bench edges`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark has nobody to report to")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use mainspring::engine::{
    Absence, CellAt, CellKey, Event, Found, Known, NewRun, Plan, PlannedTask, Report, RerunWhat,
    TaskRunRef, World, apply, decide,
};
use mainspring::model::{
    AttemptRecord, DagId, Date, Dependency, Instant, NodeId, Outcome, RunId, ScopeId, State,
    TaskDef, TaskId, TaskPolicy, TaskRunId, TaskVersionId, Trigger,
};

const NOW: Instant = Instant(1_705_276_800_000_000);
/// The delay of what is tried again.
const RETRY_MS: i64 = 60_000;
/// The target for an edge to another dag, in microseconds.
const ACROSS: f64 = 2.0;
/// The target for the release of all that is blocked, in seconds.
const RELEASE: f64 = 1.0;

fn plan(dag: i64, tasks: &[(&str, &[&str])]) -> Arc<Plan> {
    tries(dag, 1, tasks)
}

/// A plan whose tasks are tried so often.
fn tries(dag: i64, max_attempts: u32, tasks: &[(&str, &[&str])]) -> Arc<Plan> {
    let key = format!("d{dag}");
    let planned = (0..).zip(tasks).map(|(at, (name, upstreams))| {
        let edges: Vec<Dependency> =
            upstreams.iter().map(|up| Dependency::on_success(*up)).collect();
        let policy = TaskPolicy {
            max_attempts: Some(max_attempts),
            retry_interval_ms: RETRY_MS,
            retry_jitter_permille: 0,
            ..TaskPolicy::default()
        };
        let text = serde_json::json!({"name": name, "type": "noop", "policy": policy,
            "dependencies": edges});
        let def: TaskDef = serde_json::from_value(text).unwrap();
        PlannedTask {
            task_id: TaskId(dag * 1_000_000 + at),
            version_id: TaskVersionId(dag * 1_000_000 + at),
            def: Arc::new(def),
            enabled: true,
        }
    });
    Arc::new(Plan::build(DagId(dag), &key, planned.collect()).unwrap())
}

fn run(plan: &Arc<Plan>, nominal_at: Instant, biz_date: Date) -> Event {
    Event::CreateRun(NewRun {
        plan: Arc::clone(plan),
        nominal_at,
        biz_date,
        interval: (nominal_at, nominal_at),
        timezone: "UTC".into(),
        trigger: Trigger::Schedule,
        task: None,
        timed: true,
        variant: String::new(),
        interactive: false,
        requested_by: None,
        params: Default::default(),
        schedules: Vec::new(),
        only: None,
        force: false,
    })
}

fn world(slots: u32) -> World {
    World::new((1, 1), slots, NodeId(1), ScopeId(1))
}

fn happen(world: &mut World, event: &Event) {
    let decision = decide(world, event, NOW).unwrap();
    apply(world, &decision).unwrap();
}

/// Cells are read as the driver does; `known` says what is in them.
fn read(world: &mut World, known: &dyn Fn(&World, &CellKey) -> Known) {
    let keys: Vec<CellKey> = world.unread_cells().cloned().collect();
    let cells = keys.into_iter().map(|key| (key.clone(), known(world, &key))).collect();
    happen(world, &Event::Read(cells));
}

fn ended(world: &World, at: TaskRunRef, outcome: Outcome) -> Event {
    let progress = &world.task_run(at).unwrap().progress;
    Event::AttemptEnded(Report {
        at,
        attempt_no: progress.attempt_no,
        token: progress.token,
        outcome,
        result: None,
        result_uri: None,
        record: AttemptRecord::default(),
        released: true,
        texts: None,
    })
}

fn timed(world: &mut World, event: &Event, now: Instant) -> Duration {
    let clock = Clock::now();
    let decision = decide(world, event, now).unwrap();
    apply(world, &decision).unwrap();
    clock.elapsed()
}

/// Who waits for an end.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    Nobody,
    InTheRun,
    InAnotherDag,
    /// Nobody; but a delay of a run of its own is over, which makes that READY as an edge would.
    ForATime,
}

/// What an end costs for which nobody waits, a task of the same run, or one of another dag; and
/// what it costs that a task of another run becomes READY without any edge.
fn across(count: usize) -> [f64; 4] {
    let spent = |waits: Waits| {
        let mut world = world(count as u32 + 1);
        let up = match waits {
            Waits::InTheRun => plan(1, &[("a", &[]), ("b", &["d1.a"])]),
            Waits::ForATime => tries(1, 2, &[("a", &[])]),
            _ => plan(1, &[("a", &[])]),
        };
        let down = plan(2, &[("b", &["d1.a"])]);
        let at = |nth: usize| (Instant(NOW.0 + nth as i64), Date(nth as i32));
        for nth in 0..count {
            happen(&mut world, &run(&up, at(nth).0, at(nth).1));
        }
        if waits == Waits::InAnotherDag {
            for nth in 0..count {
                happen(&mut world, &run(&down, at(nth).0, at(nth).1));
            }
            read(&mut world, &|world, key| {
                // The nth run is that of the nth day.
                let CellAt::Date(date) = key.at else { panic!("{key:?}") };
                let run = world.run(RunId(i64::from(date.0) + 1)).unwrap();
                let task_run = run.task_run(0);
                let here = Found {
                    run: run.row.id,
                    task_run: task_run.id,
                    state: State::Ready,
                    code: None,
                    unchanged: false,
                    blocked_by: None,
                    result: None,
                    texts: None,
                };
                Known {
                    expected: BTreeMap::from([(run.row.nominal_at, false)]),
                    found: BTreeMap::from([(run.row.nominal_at, here)]),
                    ..Known::default()
                }
            });
        }
        while world.has_ready(NOW) {
            happen(&mut world, &Event::Dispatch);
        }
        let mut each = Vec::with_capacity(count);
        for nth in 0..count {
            let at = TaskRunRef { run: RunId(nth as i64 + 1), index: 0 };
            let event = match waits {
                Waits::ForATime => ended(&world, at, Outcome::Failed),
                _ => ended(&world, at, Outcome::Success),
            };
            let now = Instant(NOW.0 + nth as i64);
            each.push(timed(&mut world, &event, now));
        }
        if waits == Waits::ForATime {
            each.clear();
            for nth in 0..count {
                let due = Instant(NOW.0 + nth as i64).plus_millis(RETRY_MS);
                each.push(timed(&mut world, &Event::Tick, due));
            }
            assert!(world.next_timer().is_none(), "a delay is left");
        }
        // A machine that does something else meanwhile makes some of them long, and not most.
        median(&each)
    };
    [Waits::Nobody, Waits::InTheRun, Waits::InAnotherDag, Waits::ForATime].map(spent)
}

/// One task waits for so many fires of another dag: the price of each end, early and late.
fn window(count: usize) -> (f64, f64) {
    let mut world = world(count as u32);
    let up = plan(1, &[("a", &[])]);
    let down = plan(2, &[("b", &["d1.a"])]);
    let at = |nth: usize| Instant(NOW.0 + nth as i64);
    for nth in 0..count {
        happen(&mut world, &run(&up, at(nth), Date(1)));
    }
    happen(&mut world, &run(&down, NOW, Date(1)));
    read(&mut world, &|world, _| Known {
        expected: (0..count).map(|nth| (at(nth), false)).collect(),
        absence: Absence::NoFire,
        found: world
            .runs()
            .filter(|run| run.row.dag == "d1")
            .map(|run| {
                let task_run = run.task_run(0).id;
                let (run, at) = (run.row.id, run.row.nominal_at);
                let state = State::Ready;
                let (code, blocked_by, result, texts) = (None, None, None, None);
                (
                    at,
                    Found {
                        run,
                        task_run,
                        state,
                        code,
                        unchanged: false,
                        blocked_by,
                        result,
                        texts,
                    },
                )
            })
            .collect(),
        ..Known::default()
    });
    while world.has_ready(NOW) {
        happen(&mut world, &Event::Dispatch);
    }
    let mut each = Vec::with_capacity(count);
    for nth in 0..count {
        let at = TaskRunRef { run: RunId(nth as i64 + 1), index: 0 };
        let event = ended(&world, at, Outcome::Success);
        each.push(timed(&mut world, &event, NOW));
    }
    let down = TaskRunRef { run: RunId(count as i64 + 1), index: 0 };
    let state = world.task_run(down).unwrap().progress.state;
    assert!(state == State::Ready, "{state}");
    (early(&each), late(&each))
}

/// The same inside one run: so many tasks, and one that waits for all of them.
fn fan_in(count: usize) -> (f64, f64) {
    let names: Vec<String> = (0..count).map(|nth| format!("t{nth}")).collect();
    let keys: Vec<String> = names.iter().map(|name| format!("d1.{name}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut tasks: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &[][..])).collect();
    tasks.push(("all", &keys));
    let mut world = world(count as u32);
    happen(&mut world, &run(&plan(1, &tasks), NOW, Date(1)));
    while world.has_ready(NOW) {
        happen(&mut world, &Event::Dispatch);
    }
    let mut each = Vec::with_capacity(count);
    for index in 0..count as u32 {
        let at = TaskRunRef { run: RunId(1), index };
        let event = ended(&world, at, Outcome::Success);
        each.push(timed(&mut world, &event, NOW));
    }
    (early(&each), late(&each))
}

fn median(of: &[Duration]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2].as_secs_f64()
}

fn early(each: &[Duration]) -> f64 {
    median(&each[..each.len() / 10])
}

fn late(each: &[Duration]) -> f64 {
    median(&each[each.len() - each.len() / 10..each.len() - 1])
}

/// So many task runs are blocked by one of another dag, which is then repaired.
fn release(runs: usize, tasks: usize) -> f64 {
    let mut world = world(4);
    let up = plan(1, &[("a", &[])]);
    let names: Vec<String> = (0..tasks).map(|nth| format!("t{nth}")).collect();
    let list: Vec<(&str, &[&str])> = names.iter().map(|n| (&**n, &["d1.a"][..])).collect();
    let down = plan(2, &list);
    happen(&mut world, &run(&up, NOW, Date(1)));
    happen(&mut world, &Event::Dispatch);
    let head = TaskRunRef { run: RunId(1), index: 0 };
    let event = ended(&world, head, Outcome::Failed);
    happen(&mut world, &event);
    for nth in 0..runs {
        happen(&mut world, &run(&down, Instant(NOW.0 + nth as i64), Date(1)));
    }
    read(&mut world, &|world, _| {
        let (run, task_run) = (RunId(1), TaskRunId(1));
        let progress = &world.task_run(head).unwrap().progress;
        let (state, code) = (progress.state, progress.code.clone());
        let (blocked_by, result, texts) = (None, None, None);
        let found =
            Found { run, task_run, state, code, unchanged: false, blocked_by, result, texts };
        Known {
            expected: BTreeMap::from([(NOW, false)]),
            found: BTreeMap::from([(NOW, found)]),
            ..Known::default()
        }
    });
    let blocked: u32 = world.runs().map(|run| run.count(State::Blocked)).sum();
    assert!(blocked as usize == runs * tasks, "{blocked}");
    let clock = Clock::now();
    happen(&mut world, &Event::Rerun { run: RunId(1), what: RerunWhat::Failed });
    happen(&mut world, &Event::Dispatch);
    let event = ended(&world, head, Outcome::Success);
    happen(&mut world, &event);
    let spent = clock.elapsed().as_secs_f64();
    let ready: u32 = world.runs().map(|run| run.count(State::Ready)).sum();
    assert!(ready as usize == runs * tasks, "{ready}");
    spent
}

fn main() {
    let [nobody, here, other, ready] = across(20_000).map(|seconds| seconds * 1e6);
    println!(
        "an end for which nobody waits {nobody:.2} us, a task of its run {here:.2}, one of another \
         dag {other:.2}; an edge to another dag is {:.2} us more than one in the run, {:.2} of the \
         2 us allowed",
        other - here,
        (other - here) / ACROSS
    );
    println!(
        "of these, that a task of another run becomes READY is {ready:.2} us without any edge; \
         judging the edge is {:.2} us",
        other - nobody - ready
    );
    for (what, (early, late)) in
        [("a run", fan_in(10_000)), ("a day of another dag", window(10_000))]
    {
        println!(
            "a fan-in of 10,000 in {what}: {:.2} us an end at first, {:.2} us at last, {:.2} times",
            early * 1e6,
            late * 1e6,
            late / early
        );
    }
    let spent = release(1_000, 100);
    println!(
        "100,000 blocked task runs are let go by one repair: {spent:.2} s, {:.2} of the 1 s allowed",
        spent / RELEASE
    );
}
