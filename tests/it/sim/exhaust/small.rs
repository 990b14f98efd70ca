//! The small worlds: each has few tasks, and the faults that are about their edges and policies.

use std::sync::Arc;

use mainspring::engine::{NewRun, Plan, PlannedTask};
use mainspring::model::{
    Backoff, DagId, Date, Dependency, EdgeKind, Outcome, TaskDef, TaskId, TaskPolicy,
    TaskVersionId, Trigger,
};

use super::acts::{Bound, Small};
use super::naive::fire;
use crate::engine::bench::new_run;

pub fn all() -> Vec<Small> {
    vec![diamond(), chain(), queue(), once(), dates(), branch()]
}

/// A task, what it does when it fails, and its upstreams.
type Task = (&'static str, TaskPolicy, Vec<Dependency>);

/// The plan of a dag whose full keys are those that its edges name.
fn dag(id: i64, name: &str, tasks: Vec<Task>) -> Arc<Plan> {
    let planned = (1..).zip(tasks).map(|(nth, (task, policy, dependencies))| {
        let text = serde_json::json!({"name": task, "type": "noop",
            "policy": policy, "dependencies": dependencies});
        let def: TaskDef = serde_json::from_value(text).unwrap();
        let (task_id, version_id) = (TaskId(id * 10 + nth), TaskVersionId(id * 10 + nth));
        PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true }
    });
    Arc::new(Plan::build(DagId(id), name, planned.collect()).unwrap())
}

/// So many attempts, a second apart.
fn attempts(count: u32) -> TaskPolicy {
    TaskPolicy {
        max_attempts: Some(count),
        max_losses: 1,
        retry_backoff: Backoff::Fixed,
        retry_interval_ms: 1_000,
        retry_jitter_permille: 0,
        grace_ms: 1_000,
        ..TaskPolicy::default()
    }
}

fn after(upstreams: &[&str]) -> Vec<Dependency> {
    upstreams.iter().map(|upstream| Dependency::on_success(*upstream)).collect()
}

fn edge(upstream: &str, kind: EdgeKind) -> Dependency {
    Dependency { kind, ..Dependency::on_success(upstream) }
}

fn run_for(plan: &Arc<Plan>, date: Date) -> NewRun {
    let nominal_at = fire(date);
    NewRun { biz_date: date, nominal_at, timed: true, trigger: Trigger::Schedule, ..new_run(plan) }
}

const OK: (Outcome, Option<&str>) = (Outcome::Success, None);
const FAILED: (Outcome, Option<&str>) = (Outcome::Failed, None);
const LOST: (Outcome, Option<&str>) = (Outcome::Lost, None);

/// One task, two beside each other, and one after both; two slots, and one retry of each.
fn diamond() -> Small {
    let plan = dag(
        1,
        "d",
        vec![
            ("a", attempts(2), vec![]),
            ("b", attempts(2), after(&["d.a"])),
            ("c", attempts(1), after(&["d.a"])),
            ("e", attempts(1), after(&["d.b", "d.c"])),
        ],
    );
    Small {
        name: "diamond",
        runs: vec![vec![new_run(&plan)]],
        pools: vec![(None, 2, vec![])],
        endings: vec![OK, FAILED],
        bounds: vec![
            (Bound::Crash, 1),
            (Bound::Cancel, 1),
            (Bound::Rerun, 1),
            (Bound::Late, 1),
            (Bound::Hung, 1),
        ],
        troubles: 4,
        steady: None,
        first: None,
    }
}

/// A chain over a COMPLETED and a WEAK edge; attempts have a timeout with a grace.
fn chain() -> Small {
    let timed = |count| TaskPolicy { timeout_ms: Some(3_000), ..attempts(count) };
    let plan = dag(
        1,
        "d",
        vec![
            ("a", timed(2), vec![]),
            ("b", attempts(1), vec![edge("d.a", EdgeKind::Completed)]),
            ("c", timed(1), vec![edge("d.b", EdgeKind::Weak)]),
            ("e", attempts(1), after(&["d.b", "d.c"])),
        ],
    );
    Small {
        name: "chain",
        runs: vec![vec![new_run(&plan)]],
        pools: vec![(None, 2, vec![])],
        endings: vec![OK, FAILED, (Outcome::Timeout, None)],
        bounds: vec![
            (Bound::Crash, 1),
            (Bound::Reread, 1),
            (Bound::Cancel, 1),
            (Bound::Rerun, 1),
            (Bound::Later, 1),
            (Bound::Late, 1),
        ],
        troubles: 3,
        steady: None,
        first: None,
    }
}

/// Two runs that want the one slot of a pool, with two priorities.
fn queue() -> Small {
    let pooled = |priority| TaskPolicy { pool: Some("p".into()), priority, ..attempts(2) };
    let first = dag(1, "x", vec![("a", pooled(5), vec![]), ("b", pooled(2), after(&["x.a"]))]);
    let wide = TaskPolicy { slots: 2, ..pooled(5) };
    let second = dag(2, "y", vec![("a", pooled(5), vec![]), ("b", wide, vec![])]);
    Small {
        name: "queue",
        runs: vec![vec![new_run(&first)], vec![new_run(&second)]],
        pools: vec![(Some("p".into()), 1, vec![0, 2])],
        endings: vec![OK, FAILED],
        bounds: vec![
            (Bound::Resize, 2),
            (Bound::Crash, 1),
            (Bound::Cancel, 1),
            (Bound::Hung, 1),
            (Bound::Later, 1),
        ],
        troubles: 3,
        steady: None,
        first: None,
    }
}

/// A task that must not run twice, between two others; workers are lost and the process is asked to
/// go.
fn once() -> Small {
    let once = TaskPolicy { idempotent: false, max_attempts: None, ..attempts(1) };
    let plan = dag(
        1,
        "d",
        vec![
            ("a", attempts(2), vec![]),
            ("b", once, after(&["d.a"])),
            ("c", attempts(2), after(&["d.b"])),
        ],
    );
    Small {
        name: "once",
        runs: vec![vec![new_run(&plan)]],
        pools: vec![(None, 2, vec![])],
        endings: vec![OK, FAILED, LOST],
        bounds: vec![
            (Bound::Interrupt, 1),
            (Bound::Crash, 1),
            (Bound::Reread, 1),
            (Bound::Rerun, 2),
            (Bound::Late, 1),
            (Bound::Hung, 1),
        ],
        troubles: 4,
        steady: None,
        first: None,
    }
}

/// Two dags over two dates: one task wants the day before, and another the same day.
fn dates() -> Small {
    let up = dag(1, "u", vec![("a", attempts(1), vec![])]);
    let before = Dependency { offset_from: -1, offset_to: -1, ..Dependency::on_success("u.a") };
    let down = dag(
        2,
        "w",
        vec![("b", attempts(1), vec![before]), ("c", attempts(1), after(&["u.a", "w.b"]))],
    );
    let of = |plan| vec![run_for(plan, Date(11)), run_for(plan, Date(12))];
    Small {
        name: "dates",
        runs: vec![of(&up), of(&down)],
        pools: vec![(None, 4, vec![])],
        endings: vec![OK, FAILED],
        bounds: vec![(Bound::Rerun, 1), (Bound::Crash, 1)],
        troubles: 2,
        steady: Some(DagId(2)),
        first: Some(Date(11)),
    }
}

/// A task whose result chooses between two others, and one after both; reruns change the result.
fn branch() -> Small {
    let matches = |pattern: &str| Dependency {
        pattern: Some(pattern.to_owned()),
        ..edge("d.a", EdgeKind::OutputMatch)
    };
    let plan = dag(
        1,
        "d",
        vec![
            ("a", attempts(2), vec![]),
            ("yes", attempts(1), vec![matches("yes")]),
            ("no", attempts(1), vec![matches("no")]),
            ("below", attempts(1), after(&["d.yes"])),
            ("join", attempts(1), after(&["d.below", "d.no"])),
        ],
    );
    Small {
        name: "branch",
        runs: vec![vec![new_run(&plan)]],
        pools: vec![(None, 4, vec![])],
        endings: vec![
            (Outcome::Success, Some("\"yes\"")),
            (Outcome::Success, Some("\"no\"")),
            FAILED,
        ],
        bounds: vec![(Bound::Rerun, 2), (Bound::Crash, 1), (Bound::Cancel, 1)],
        troubles: 3,
        steady: None,
        first: None,
    }
}
