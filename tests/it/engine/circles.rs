//! Task runs that wait for each other: found across dags and dates, and told with their names.

use std::sync::Arc;

use mainspring::engine::{
    CellAt, CellKey, Event, Found, Known, Plan, PlannedTask, TaskRunRef, World, apply, decide,
    explain,
};
use mainspring::model::{
    DagId, Date, Dependency, Instant, NodeId, RunId, ScopeId, TaskDef, TaskId, TaskPolicy,
    TaskVersionId,
};
use serde_json::json;

use super::bench::{START, new_run};

/// A dag of one task that waits for these, each of another date.
fn plan(dag: i64, edges: &[(&str, i32)]) -> Arc<Plan> {
    let edge = |(upstream, offset): &(&str, i32)| Dependency {
        offset_from: *offset,
        offset_to: *offset,
        ..Dependency::on_success(*upstream)
    };
    let edges: Vec<Dependency> = edges.iter().map(edge).collect();
    let policy = TaskPolicy::default();
    let text = json!({"name": "t", "type": "noop", "policy": policy, "dependencies": edges});
    let def: TaskDef = serde_json::from_value(text).unwrap();
    let (task_id, version_id) = (TaskId(dag), TaskVersionId(dag));
    let task = PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true };
    Arc::new(Plan::build(DagId(dag), &format!("d{dag}"), vec![task]).unwrap())
}

fn happen(world: &mut World, event: &Event) {
    let decision = decide(world, event, START).unwrap();
    apply(world, &decision).unwrap();
}

fn make(world: &mut World, plan: &Arc<Plan>, day: i32) -> TaskRunRef {
    let nominal_at = Instant(START.0 + i64::from(day));
    let new = mainspring::engine::NewRun { biz_date: Date(day), nominal_at, ..new_run(plan) };
    happen(world, &Event::CreateRun(new));
    let run = world.runs().last().unwrap().row.id;
    read(world);
    TaskRunRef { run, index: 0 }
}

/// Cells hold the runs of their date that are in the world; no schedule expects others.
fn read(world: &mut World) {
    let keys: Vec<CellKey> = world.unread_cells().cloned().collect();
    let known = |key: &CellKey| {
        let of_cell = world.runs().filter(|run| {
            key.at == CellAt::Date(run.row.biz_date)
                && *key.upstream == format!("{}.t", run.row.dag)
        });
        let found = of_cell.map(|run| {
            let task_run = run.task_run(0);
            let state = task_run.progress.state;
            let (run, at, task_run) = (run.row.id, run.row.nominal_at, task_run.id);
            let (code, blocked_by, result, texts) = (None, None, None, None);
            let unchanged = false;
            (at, Found { run, task_run, state, code, unchanged, blocked_by, result, texts })
        });
        Known { found: found.collect(), ..Known::default() }
    };
    let cells = keys.iter().map(|key| (key.clone(), known(key))).collect();
    happen(world, &Event::Read(cells));
}

fn world() -> World {
    World::new((1, 1), 10, NodeId(1), ScopeId(1))
}

fn why(world: &World, at: TaskRunRef) -> String {
    explain(world, at, START).unwrap().to_string()
}

#[test]
fn runs_that_wait_for_each_other_are_found_and_named() {
    // Tomorrow's run of the other, and yesterday's of this one: neither edge is refused.
    let (one, two) = (plan(1, &[("d2.t", 1)]), plan(2, &[("d1.t", -1)]));
    let mut world = world();
    let first = make(&mut world, &one, 10);
    assert_eq!(world.circles(), Vec::<Vec<TaskRunRef>>::new());
    assert!(!why(&world, first).contains("each other"));
    let second = make(&mut world, &two, 11);
    let circles = world.circles();
    assert_eq!(circles.len(), 1);
    let mut members = circles[0].clone();
    members.sort();
    assert_eq!(members, [first, second]);
    let said = why(&world, first);
    let circle = "they wait for each other (d1.t of run 1 -> d2.t of run 2 -> d1.t of run 1)";
    assert!(said.contains(circle), "{said}");
    // Who waits for one of them waits for the circle, which is one all the same.
    let behind = make(&mut world, &plan(3, &[("d1.t", 0)]), 10);
    assert_eq!(world.circles().len(), 1);
    assert!(why(&world, behind).contains("they wait for each other"), "{}", why(&world, behind));
    // A person's word ends it.
    happen(&mut world, &Event::Cancel { run: RunId(2), only: None, grace_ms: None });
    assert_eq!(world.circles(), Vec::<Vec<TaskRunRef>>::new());
    assert!(!why(&world, first).contains("each other"));
}

#[test]
fn a_chain_is_no_circle_however_long() {
    let mut world = world();
    let past = plan(1, &[("d1.t", -1)]);
    for day in 0..2_000 {
        make(&mut world, &past, day);
    }
    // The first one waits for a run that is not there.
    assert_eq!(world.circles(), Vec::<Vec<TaskRunRef>>::new());
    let last = TaskRunRef { run: RunId(2_000), index: 0 };
    assert_eq!(world.circle(last), None);
    // Two ways to one upstream are none either.
    let mut world = self::world();
    make(&mut world, &plan(1, &[("d9.t", 0)]), 1);
    make(&mut world, &plan(2, &[("d1.t", 0)]), 1);
    make(&mut world, &plan(3, &[("d1.t", 0), ("d2.t", 0)]), 1);
    assert_eq!(world.circles(), Vec::<Vec<TaskRunRef>>::new());
}
