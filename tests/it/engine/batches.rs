//! A range as one batch: of the task runs of a block one runs for all.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::{
    Event, NewBackfill, Plan, PlannedTask, Report, RerunWhat, TaskRunRef, World, apply, decide,
    explain,
};
use mainspring::model::{
    AttemptRecord, BackfillAsk, BackfillId, BackfillPlan, BackfillState, BackfillTask, DagId, Date,
    Dependency, Instant, NodeId, Outcome, PlannedRun, RunId, Steer, TaskDef, TaskId, TaskPolicy,
    TaskRunId, TaskSet, TaskVersionId, Token,
};

use crate::sim::rows::MemoryRows;

const DAY: i64 = 86_400_000_000;
const ID: BackfillId = BackfillId(1);
const TASKS: [&str; 3] = ["e", "l", "r"];

/// A backfill of `e`, then `l` as one batch, then `r`; a run a day, of which day 1 is run 1.
struct Days {
    world: World,
    rows: MemoryRows,
    now: Instant,
    live: BTreeMap<TaskRunRef, (u32, Token)>,
    /// Attempts in the order in which they began, as `l 3`.
    started: Vec<String>,
}

fn task(id: i64, up: Option<&str>, batch: bool) -> PlannedTask {
    let name = TASKS[id as usize];
    let edges: Vec<Dependency> =
        up.into_iter().map(|up| Dependency::on_success(format!("d.{up}"))).collect();
    let policy = TaskPolicy {
        max_attempts: Some(if batch { 2 } else { 1 }),
        retry_interval_ms: 60_000,
        retry_jitter_permille: 0,
        grace_ms: 1_000,
        ..TaskPolicy::default()
    };
    let text = serde_json::json!({"name": name, "type": "noop", "batch": batch,
        "dependencies": edges, "policy": policy});
    let def: TaskDef = serde_json::from_value(text).unwrap();
    let (task_id, version_id) = (TaskId(id), TaskVersionId(id));
    PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true }
}

impl Days {
    /// Days of these numbers, in these groups.
    fn new(days: &[(i32, u32)]) -> Days {
        let tasks = vec![task(0, None, false), task(1, Some("e"), true), task(2, Some("l"), false)];
        let of = Arc::new(Plan::build(DagId(1), "d", tasks.clone()).unwrap());
        let mut plan = BackfillPlan::nothing();
        plan.ask = BackfillAsk { dag: "d".into(), max_active: 1, share: 100, ..plan.ask };
        plan.tasks = (tasks.iter())
            .map(|task| BackfillTask {
                dag: "d".into(),
                name: task.def.name.clone(),
                task_id: task.task_id,
                version_id: task.version_id,
                batch: task.def.batch,
            })
            .collect();
        let timezone = "UTC".into();
        plan.sets = vec![TaskSet {
            dag: "d".into(),
            tasks: vec![0, 1, 2],
            timezone,
            alone: false,
            keep: Vec::new(),
        }];
        let at = |day: i32| Instant(i64::from(day) * DAY);
        plan.runs = (days.iter())
            .map(|(day, group)| PlannedRun {
                set: 0,
                group: *group,
                nominal_at: at(*day),
                biz_date: Date(*day),
                interval: (at(day - 1), at(*day)),
            })
            .collect();
        let rows = MemoryRows::new();
        let world = rows.world(100, NodeId(1));
        let (now, live, started) = (Instant(1_000 * DAY), BTreeMap::new(), Vec::new());
        let mut this = Days { world, rows, now, live, started };
        let (plan, plans) = (Arc::new(plan), vec![of]);
        this.event(&Event::NewBackfill(NewBackfill { id: ID, plan, plans, requested_by: None }));
        this
    }

    fn event(&mut self, event: &Event) {
        self.one(event);
        for _ in 0..100 {
            if let Some(backfill) = self.world.next_fill() {
                self.one(&Event::Fill(backfill));
            } else if self.world.has_ready(self.now) {
                self.one(&Event::Dispatch);
            } else {
                return;
            }
        }
        panic!("there is always something more to do");
    }

    fn one(&mut self, event: &Event) {
        let decision = decide(&self.world, event, self.now).unwrap();
        self.rows.commit(&decision).unwrap();
        apply(&mut self.world, &decision).unwrap();
        for start in &decision.starts {
            let token = (start.attempt.attempt_no, start.attempt.token);
            self.live.insert(start.at, token);
            let name = TASKS[start.at.index as usize];
            self.started.push(format!("{name} {}", start.at.run.0));
        }
        // What is derived is what the rows say.
        assert_eq!(self.states_of(&self.rows.world(100, NodeId(1))), self.states());
    }

    /// `l 3 ok`, `l 3 fail`, `l 3 lost`, `cancel l 3`, `rerun 3`, `retry`, `stop`, `crash`, `+120`.
    fn happen(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = |name: &str, run: &str| TaskRunRef {
            run: RunId(run.parse().unwrap()),
            index: TASKS.iter().position(|task| *task == name).unwrap() as u32,
        };
        let (backfill, grace_ms) = (ID, Some(0));
        match words[..] {
            [seconds] if seconds.starts_with('+') => {
                self.now = self.now + seconds[1..].parse::<i64>().unwrap() * 1_000_000;
                self.event(&Event::Tick);
            }
            ["cancel", name, run] => {
                let at = at(name, run);
                let only = Some(vec![at.index]);
                self.event(&Event::Cancel { run: at.run, only, grace_ms });
            }
            ["rerun", run] => {
                let run = RunId(run.parse().unwrap());
                self.event(&Event::Rerun { run, what: RerunWhat::Failed });
            }
            ["retry"] => self.event(&Event::Steer { backfill, steer: Steer::Retry, grace_ms }),
            ["stop"] => self.event(&Event::Steer { backfill, steer: Steer::Cancel, grace_ms }),
            ["crash"] => {
                self.world = self.rows.world(100, NodeId(2));
                self.live.clear();
                self.event(&Event::NodeLost { node: NodeId(1) });
            }
            [name, run, what] => {
                let at = at(name, run);
                let (attempt_no, token) = self.live.remove(&at).unwrap();
                let outcome = match what {
                    "ok" => Outcome::Success,
                    "fail" => Outcome::Failed,
                    _ => panic!("no outcome {what}"),
                };
                let result = (what == "ok").then(|| Arc::from(format!("\"{name}{run}\"")));
                self.event(&Event::AttemptEnded(Report {
                    at,
                    attempt_no,
                    token,
                    outcome,
                    result,
                    result_uri: None,
                    record: AttemptRecord::default(),
                    released: true,
                    texts: None,
                }));
            }
            _ => panic!("no event {text}"),
        }
    }

    fn all(&mut self, events: &[&str]) {
        events.iter().for_each(|event| self.happen(event));
    }

    /// A word a run, of the states of its tasks: `e=SUCCESS l=READY r=PENDING`.
    fn states(&self) -> Vec<String> {
        self.states_of(&self.world)
    }

    fn states_of(&self, world: &World) -> Vec<String> {
        let of_run = |stored: &crate::sim::rows::Stored| {
            let id = stored.row.id;
            let words = (0..3u32).zip(TASKS).map(|(index, name)| {
                let row = &stored.task_runs
                    [&TaskRunId(stored.row.first_task_run_id.0 + i64::from(index))];
                if let Some(found) = world.task_run(TaskRunRef { run: id, index }) {
                    assert_eq!(found.progress, row.progress, "{name} of {id}");
                }
                let p = &row.progress;
                let code = p.code.as_ref().map(|code| format!("({code})")).unwrap_or_default();
                format!("{name}={}{code}", p.state)
            });
            words.collect::<Vec<_>>().join(" ")
        };
        self.rows.runs.values().map(of_run).collect()
    }

    fn result(&self, name: usize, run: i64) -> Option<String> {
        let stored = &self.rows.runs[&RunId(run)];
        let id = TaskRunId(stored.row.first_task_run_id.0 + name as i64);
        stored.task_runs[&id].progress.result.as_deref().map(str::to_owned)
    }

    fn state(&self) -> BackfillState {
        self.rows.backfills[&ID].row.state
    }

    fn why(&self, run: i64) -> String {
        let at = TaskRunRef { run: RunId(run), index: 1 };
        explain(&self.world, at, self.now).unwrap().to_string()
    }
}

const THREE: &[(i32, u32)] = &[(10, 0), (11, 0), (12, 0)];

#[test]
fn the_last_of_a_block_runs_for_all_when_every_edge_of_all_holds() {
    let mut days = Days::new(THREE);
    assert_eq!(days.started, ["e 1", "e 2", "e 3"]);
    days.all(&["e 3 ok", "e 1 ok"]);
    assert_eq!(
        days.states(),
        [
            "e=SUCCESS l=READY r=PENDING",
            "e=RUNNING l=PENDING r=PENDING",
            "e=SUCCESS l=READY r=PENDING",
        ]
    );
    assert_eq!(days.started.len(), 3);
    assert!(days.why(3).contains("computed as one batch, which waits for l of run 2 (PENDING)"));
    days.happen("e 2 ok");
    assert_eq!(days.states(), ["e=SUCCESS l=RUNNING r=PENDING"; 3]);
    assert_eq!(days.started[3..], ["l 3"]);
    let leader = TaskRunRef { run: RunId(3), index: 1 };
    assert_eq!(days.world.block_interval(leader), Some((Instant(9 * DAY), Instant(12 * DAY))));
    assert!(days.why(1).contains("computed as one batch with l of run 3 (RUNNING)"));
    days.happen("l 3 ok");
    assert_eq!(days.states(), ["e=SUCCESS l=SUCCESS r=RUNNING"; 3]);
    for run in 1..=3 {
        assert_eq!(days.result(1, run).as_deref(), Some("\"l3\""));
    }
    days.all(&["r 1 ok", "r 2 ok", "r 3 ok"]);
    assert_eq!(days.state(), BackfillState::Success);
    assert_eq!(days.started.iter().filter(|name| name.starts_with('l')).count(), 1);
}

#[test]
fn a_failure_is_that_of_all_and_a_retry_takes_all_together() {
    let mut days = Days::new(THREE);
    days.all(&["e 1 ok", "e 2 ok", "e 3 ok", "l 3 fail"]);
    assert_eq!(days.states()[0], "e=SUCCESS l=READY(ERROR) r=PENDING");
    assert_eq!(days.states()[2], "e=SUCCESS l=RETRY_WAIT(ERROR) r=PENDING");
    days.happen("+120");
    assert_eq!(days.states(), ["e=SUCCESS l=RUNNING r=PENDING"; 3]);
    assert_eq!(days.started[3..], ["l 3", "l 3"]);
    days.happen("l 3 fail");
    let blocked = "r=BLOCKED(UPSTREAM_FAILED)";
    assert_eq!(
        days.states(),
        [
            format!("e=SUCCESS l=FAILED(BATCH) {blocked}"),
            format!("e=SUCCESS l=FAILED(BATCH) {blocked}"),
            format!("e=SUCCESS l=FAILED(ERROR) {blocked}"),
        ]
    );
    assert!(days.why(1).contains("computed as one batch with l of run 3 (FAILED)"));
    assert_eq!(days.state(), BackfillState::Failed);
    days.world = days.rows.world(100, NodeId(1));
    days.happen("retry");
    assert_eq!(days.states(), ["e=SUCCESS l=RUNNING r=PENDING"; 3]);
    assert_eq!(days.started[5..], ["l 3"]);
    days.all(&["l 3 ok", "r 1 ok", "r 2 ok", "r 3 ok"]);
    assert_eq!(days.state(), BackfillState::Success);
}

#[test]
fn one_that_is_blocked_lets_nobody_run_for_the_block() {
    let mut days = Days::new(THREE);
    days.all(&["e 1 ok", "e 2 fail"]);
    let blocked = "r=BLOCKED(UPSTREAM_FAILED)";
    let second = format!("e=FAILED(ERROR) l=BLOCKED(UPSTREAM_FAILED) {blocked}");
    let first = format!("e=SUCCESS l=FAILED(BATCH) {blocked}");
    assert_eq!(days.states(), [first.as_str(), &second, "e=RUNNING l=PENDING r=PENDING"]);
    days.happen("e 3 ok");
    assert_eq!(days.states(), [first.as_str(), &second, &first]);
    assert!(days.why(3).contains("computed as one batch with l of run 2 (BLOCKED)"));
    assert_eq!((days.state(), days.started.len()), (BackfillState::Failed, 3));
    days.world = days.rows.world(100, NodeId(1));
    days.all(&["retry", "e 2 ok"]);
    assert_eq!(days.states(), ["e=SUCCESS l=RUNNING r=PENDING"; 3]);
    assert_eq!(days.started[3..], ["e 2", "l 3"]);
}

#[test]
fn a_crash_loses_the_attempt_and_not_the_block() {
    let mut days = Days::new(THREE);
    days.all(&["e 1 ok", "e 2 ok", "e 3 ok", "crash", "+120"]);
    assert_eq!(days.states(), ["e=SUCCESS l=RUNNING r=PENDING"; 3]);
    assert_eq!(days.started[3..], ["l 3", "l 3"]);
    days.happen("l 3 ok");
    assert_eq!(days.states(), ["e=SUCCESS l=SUCCESS r=RUNNING"; 3]);
}

#[test]
fn a_date_that_is_canceled_is_not_of_the_block() {
    let mut days = Days::new(THREE);
    days.all(&["e 3 ok", "e 2 ok", "cancel l 3", "e 1 ok"]);
    assert_eq!(days.started[3..], ["l 2"]);
    let leader = TaskRunRef { run: RunId(2), index: 1 };
    assert_eq!(days.world.block_interval(leader), Some((Instant(9 * DAY), Instant(11 * DAY))));
    days.happen("stop");
    let canceled = days.states().iter().filter(|run| run.contains("l=CANCELED")).count();
    assert_eq!((canceled, days.state()), (3, BackfillState::Canceled));
}

#[test]
fn a_rerun_of_one_run_computes_that_date_alone() {
    let mut days = Days::new(THREE);
    days.all(&["e 1 ok", "e 2 ok", "e 3 ok", "l 3 fail", "+120", "l 3 fail"]);
    days.world = days.rows.world(100, NodeId(1));
    days.happen("rerun 1");
    assert_eq!(days.started[5..], ["l 1"]);
    let at = TaskRunRef { run: RunId(1), index: 1 };
    assert_eq!(days.world.block_interval(at), Some((Instant(9 * DAY), Instant(10 * DAY))));
    days.happen("l 1 ok");
    assert_eq!(days.states()[0], "e=SUCCESS l=SUCCESS r=RUNNING");
    assert!(days.states()[1].contains("l=FAILED(BATCH)"));
}

/// A gap in the dates, and another group, end a block.
#[test]
fn a_block_is_dates_in_a_row_of_one_group() {
    let mut days = Days::new(&[(10, 0), (11, 0), (13, 0), (14, 0), (15, 1), (16, 1)]);
    for run in 1..=4 {
        days.happen(&format!("e {run} ok"));
    }
    assert_eq!(days.started[4..], ["l 2", "l 4"]);
    days.all(&["l 2 ok", "l 4 ok", "r 1 ok", "r 2 ok", "r 3 ok", "r 4 ok", "e 5 ok", "e 6 ok"]);
    assert_eq!(days.started.last().unwrap(), "l 6");
}
