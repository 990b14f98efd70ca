//! Worlds of several dags whose tasks wait for each other's dates, beside a naive reading of the
//! rules: it looks at all rows, each time anew, and knows nothing of cells and votes.
//!
//! `MAINSPRING_SEED=17 cargo test sim::across` tells one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{
    Absence, CellAt, CellKey, Decision, EdgeRule, Effect, Event, Found, Known, NewRun, Plan,
    PlannedTask, Report, RerunWhat, Standing, TaskRunRef, Verdict, World, apply, decide,
    edge_verdict,
};
use mainspring::model::{
    AttemptRecord, DagId, Date, Dependency, EdgeKind, Instant, NodeId, OffsetUnit, OnSkip, Outcome,
    RunId, State, TaskDef, TaskId, TaskRunId, TaskRunRow, TaskVersionId, Trigger, Which,
};

use super::rng::Rng;
use super::rows::MemoryRows;
use crate::engine::bench::new_run;

/// A rule that is taken away, to see that the naive reading notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Cells are read as if every run in them had succeeded.
    AllSucceeded,
    /// Runs that were missing when a cell was read are never seen.
    NoExpectation,
    /// An older run of an instant counts as well as the newest.
    OldestRun,
    /// Edges look one day too far back.
    ShiftedDate,
    /// Windows are as if they were their last day.
    NoWindow,
    /// A paused upstream is waited for.
    PauseWaits,
    /// Skips by a condition count as success.
    SkipsHold,
    /// What is waited for up to a time is waited for as long as it takes.
    WaitsForEver,
    /// It is waited for half of its time.
    HalfTheWait,
}

const DAY: i64 = 86_400_000_000;
const DAYS: i32 = 6;

/// A dag of a world: its plan, when it fires on a day, and since and until when.
struct Shape {
    plan: Arc<Plan>,
    /// As it was meant: the plan that the engine gets may be spoilt.
    defs: Vec<TaskDef>,
    fires: Vec<i64>,
    first: i32,
    last: i32,
    paused: BTreeSet<i32>,
    scheduled: bool,
}

struct Tale {
    rng: Rng,
    fault: Fault,
    shapes: Vec<Shape>,
    world: World,
    rows: MemoryRows,
    now: Instant,
    live: BTreeMap<TaskRunRef, (u32, mainspring::model::Token)>,
    /// Attempts that were given up, and whose threads are about to end.
    zombies: Vec<(TaskRunRef, u32, mainspring::model::Token)>,
    hash: u64,
    steps: u64,
    blocked: u64,
    skipped: u64,
    /// Starts without an upstream that was waited for up to a time.
    without: u64,
}

fn date(day: i32) -> Date {
    Date(100 + day)
}

impl Shape {
    fn key(dag: usize, task: usize) -> String {
        format!("d{dag}.t{task}")
    }

    fn fire(&self, day: i32, nth: usize) -> Instant {
        Instant(i64::from(100 + day) * DAY + self.fires[nth])
    }

    fn expected(&self, day: i32) -> Vec<Instant> {
        if !self.scheduled || day < self.first || day > self.last {
            return Vec::new();
        }
        (0..self.fires.len()).map(|nth| self.fire(day, nth)).collect()
    }

    fn absence(&self, day: i32) -> Absence {
        match () {
            () if day < self.first => Absence::BeforeFirst,
            () if !self.scheduled => Absence::Unscheduled,
            () if day > self.last => Absence::Expired,
            () => Absence::NoFire,
        }
    }
}

fn shapes(rng: &mut Rng, fault: Fault) -> Vec<Shape> {
    let count = 2 + rng.below(3) as usize;
    let mut shapes = Vec::new();
    for dag in 0..count {
        let tasks = 1 + rng.below(3) as usize;
        let mut defs = Vec::new();
        for at in 0..tasks {
            let mut edges: BTreeMap<(String, i32, i32), Dependency> = BTreeMap::new();
            for _ in 0..rng.below(3) {
                let edge = edge(rng, dag, at, count);
                edges.insert((edge.upstream.clone(), edge.offset_from, edge.offset_to), edge);
            }
            let policy = mainspring::model::TaskPolicy {
                max_attempts: Some(1 + rng.below(2) as u32),
                retry_interval_ms: 1_000,
                ..Default::default()
            };
            let text = serde_json::json!({"name": format!("t{at}"), "type": "noop",
                "policy": policy, "dependencies": edges.into_values().collect::<Vec<_>>()});
            defs.push(serde_json::from_value::<TaskDef>(text).unwrap());
        }
        let planned = defs.iter().enumerate().map(|(at, def)| PlannedTask {
            task_id: TaskId((dag * 10 + at) as i64),
            version_id: TaskVersionId((dag * 10 + at) as i64),
            def: Arc::new(spoilt(def, fault)),
            enabled: true,
        });
        let plan = Plan::build(DagId(dag as i64), &format!("d{dag}"), planned.collect()).unwrap();
        let fires = if rng.chance(250) { vec![1_000, 2_000] } else { vec![1_000 + dag as i64] };
        shapes.push(Shape {
            plan: Arc::new(plan),
            defs,
            fires,
            first: if rng.chance(300) { 2 } else { 0 },
            last: if rng.chance(200) { 4 } else { DAYS },
            paused: if rng.chance(300) {
                BTreeSet::from([rng.below(6) as i32])
            } else {
                BTreeSet::new()
            },
            scheduled: rng.chance(800),
        });
    }
    shapes
}

/// An edge to an earlier task of the same dag, to an earlier dag, or to any task of an earlier day.
fn edge(rng: &mut Rng, dag: usize, at: usize, dags: usize) -> Dependency {
    let kinds = [
        EdgeKind::Success,
        EdgeKind::Success,
        EdgeKind::Completed,
        EdgeKind::OutputMatch,
        EdgeKind::Weak,
    ];
    let kind = *rng.pick(&kinds);
    let (mut up, mut task) = (rng.below(dags as u64) as usize, 0);
    let (mut from, mut to) = (0, 0);
    if up > dag || up == dag && at == 0 || rng.chance(400) {
        to = -1;
        from = if rng.chance(400) { -1 - rng.below(3) as i32 } else { -1 };
    } else if up < dag && rng.chance(200) {
        from = -(rng.below(3) as i32);
    }
    if up == dag && to == 0 {
        task = rng.below(at as u64) as usize;
    }
    if rng.chance(200) && to < 0 {
        (up, task) = (dag, at);
    }
    Dependency {
        kind,
        offset_from: from,
        offset_to: to,
        which: if rng.chance(700) { Which::All } else { *rng.pick(&[Which::Last, Which::Any]) },
        pattern: (kind == EdgeKind::OutputMatch).then(|| "yes".to_owned()),
        on_skip: rng
            .chance(150)
            .then(|| *rng.pick(&[OnSkip::Satisfied, OnSkip::Skip, OnSkip::Block])),
        wait_up_to_ms: (kind == EdgeKind::Completed && rng.chance(600))
            .then(|| 1_000 * (1 + rng.below(20) as i64)),
        ..Dependency::on_success(Shape::key(up, task))
    }
}

fn spoilt(def: &TaskDef, fault: Fault) -> TaskDef {
    let mut def = def.clone();
    for edge in &mut def.dependencies {
        let is_across = !edge.is_here() || edge.offset_to < 0;
        match fault {
            Fault::ShiftedDate if is_across => {
                edge.offset_from -= 1;
                edge.offset_to -= 1;
            }
            Fault::NoWindow => edge.offset_from = edge.offset_to,
            Fault::WaitsForEver => edge.wait_up_to_ms = None,
            Fault::HalfTheWait => edge.wait_up_to_ms = edge.wait_up_to_ms.map(|wait| wait / 2),
            Fault::SkipsHold if edge.on_skip.is_none() => edge.on_skip = Some(OnSkip::Satisfied),
            _ => {}
        }
    }
    def
}

impl Tale {
    fn tell(seed: u64, fault: Fault) -> Result<Tale, String> {
        let mut rng = Rng(seed);
        let shapes = shapes(&mut rng, fault);
        let rows = MemoryRows::new();
        let world = rows.world(4, NodeId(1));
        let now = Instant(200 * DAY);
        let mut tale = Tale {
            rng,
            fault,
            shapes,
            world,
            rows,
            now,
            live: BTreeMap::new(),
            zombies: Vec::new(),
            hash: 0,
            steps: 0,
            blocked: 0,
            skipped: 0,
            without: 0,
        };
        for _ in 0..120 {
            tale.something()?;
            if tale.world.next_wake().is_some_and(|wake| wake <= tale.now) {
                tale.happen(Event::Tick)?;
            }
            tale.judge(false)?;
        }
        // Everything that is scheduled comes at last, and nothing fails any more.
        for day in 0..=DAYS {
            for dag in 0..tale.shapes.len() {
                for nth in 0..tale.shapes[dag].fires.len() {
                    tale.make(dag, day, nth)?;
                }
            }
        }
        tale.finish()?;
        tale.judge(true)?;
        tale.reread()?;
        Ok(tale)
    }

    fn something(&mut self) -> Result<(), String> {
        self.now = self.now + 500_000;
        match self.rng.below(10) {
            0..=3 => {
                let dag = self.rng.below(self.shapes.len() as u64) as usize;
                let day = self.rng.below(DAYS as u64 + 1) as i32;
                let nth = self.rng.below(self.shapes[dag].fires.len() as u64) as usize;
                self.make(dag, day, nth)?;
            }
            4..=6 => {
                let ends = if self.rng.chance(300) { Outcome::Failed } else { Outcome::Success };
                self.end_one(ends)?;
            }
            7 => {
                let runs: Vec<RunId> = self.world.runs().map(|run| run.row.id).collect();
                if runs.is_empty() {
                    return Ok(());
                }
                let run = *self.rng.pick(&runs);
                let count = u64::from(self.world.run(run).unwrap().row.task_count);
                let some = vec![self.rng.below(count) as u32];
                match self.rng.below(4) {
                    0 => self.happen(Event::Cancel { run, only: Some(some), grace_ms: Some(0) })?,
                    1 => self.happen(Event::Rerun { run, what: RerunWhat::Failed })?,
                    _ => self.happen(Event::Rerun { run, what: RerunWhat::Only(some) })?,
                }
            }
            8 => self.reload()?,
            _ => self.happen(Event::Tick)?,
        }
        Ok(())
    }

    /// A run of a dag for a day: timed, or asked for by hand where that one is there.
    fn make(&mut self, dag: usize, day: i32, nth: usize) -> Result<(), String> {
        let shape = &self.shapes[dag];
        if shape.scheduled && shape.paused.contains(&day) || day < shape.first || day > shape.last {
            return Ok(());
        }
        let nominal_at = shape.fire(day, nth);
        let known = self.rows.runs.values().any(|stored| {
            stored.row.dag_id == DagId(dag as i64) && stored.row.nominal_at == nominal_at
        });
        if known && !self.rng.chance(100) {
            return Ok(());
        }
        let mut new = new_run(&shape.plan);
        new.nominal_at = nominal_at;
        new.biz_date = date(day);
        new.timed = !known;
        new.trigger = if known { Trigger::Manual } else { Trigger::Schedule };
        self.happen(Event::CreateRun(NewRun { ..new }))
    }

    fn end_one(&mut self, outcome: Outcome) -> Result<(), String> {
        let live: Vec<TaskRunRef> = self.live.keys().copied().collect();
        if live.is_empty() {
            return Ok(());
        }
        let at = *self.rng.pick(&live);
        let (attempt_no, token) = self.live.remove(&at).unwrap();
        let text = if self.rng.chance(500) { "\"yes\"" } else { "\"no\"" };
        let result = (outcome == Outcome::Success).then(|| Arc::from(text));
        let record = AttemptRecord::default();
        self.happen(Event::AttemptEnded(Report {
            at,
            attempt_no,
            token,
            outcome,
            result,
            result_uri: None,
            record,
            released: true,
            texts: None,
        }))
    }

    fn finish(&mut self) -> Result<(), String> {
        for _ in 0..5_000 {
            if !self.live.is_empty() {
                self.end_one(Outcome::Success)?;
            } else if let Some(wake) = self.world.next_wake() {
                self.now = self.now.max(wake);
                self.happen(Event::Tick)?;
            } else {
                return Ok(());
            }
        }
        Err("ends: it does not".into())
    }

    /// The process is gone; the next one reads the rows, and what ran is lost.
    fn reload(&mut self) -> Result<(), String> {
        self.live.clear();
        self.world = self.rows.world(4, NodeId(1));
        self.happen(Event::NodeLost { node: NodeId(1) })
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        self.step(event)?;
        for (at, attempt_no, token) in std::mem::take(&mut self.zombies) {
            self.step(Event::AttemptReleased { at, attempt_no, token })?;
        }
        self.read()?;
        while self.world.has_ready(self.now) {
            self.step(Event::Dispatch)?;
        }
        self.read()
    }

    /// What the driver does: cells that are looked at are read.
    fn read(&mut self) -> Result<(), String> {
        for _ in 0..10 {
            let unread: Vec<CellKey> = self.world.unread_cells().cloned().collect();
            if unread.is_empty() {
                return Ok(());
            }
            let cells = unread.into_iter().map(|key| (key.clone(), self.known(&key))).collect();
            self.step(Event::Read(cells))?;
        }
        Err("read: cells stay unread".into())
    }

    fn known(&self, key: &CellKey) -> Known {
        let (dag, _) = place(&key.upstream);
        let CellAt::Date(at) = key.at else { panic!("{key:?}") };
        let day = at.0 - 100;
        let shape = &self.shapes[dag];
        let expected: BTreeMap<Instant, bool> = match self.fault {
            Fault::NoExpectation => BTreeMap::new(),
            _ => {
                let paused = shape.paused.contains(&day) && self.fault != Fault::PauseWaits;
                shape.expected(day).into_iter().map(|at| (at, paused)).collect()
            }
        };
        let mut found = BTreeMap::new();
        for (run, row) in self.runs_of(&key.upstream, at) {
            let mut state = row.progress.state;
            if self.fault == Fault::AllSucceeded {
                state = State::Success;
            }
            if self.fault == Fault::OldestRun && found.contains_key(&row.nominal_at) {
                continue;
            }
            found.insert(
                row.nominal_at,
                Found {
                    run,
                    task_run: row.id,
                    state,
                    code: row.progress.code.clone(),
                    unchanged: row.progress.unchanged,
                    blocked_by: row.progress.blocked_by,
                    result: row.progress.result.clone(),
                    texts: None,
                },
            );
        }
        Known { expected, absence: shape.absence(day), task: None, found, declared: false }
    }

    /// All runs of a task for a date, the oldest first.
    fn runs_of(&self, upstream: &str, at: Date) -> Vec<(RunId, &TaskRunRow)> {
        let (dag, task) = place(upstream);
        let stored =
            self.rows.runs.values().filter(|stored| {
                stored.row.dag_id == DagId(dag as i64) && stored.row.biz_date == at
            });
        stored
            .map(|stored| {
                let id = stored.row.first_task_run_id.offset(task as u32);
                (stored.row.id, &stored.task_runs[&id])
            })
            .collect()
    }

    fn step(&mut self, event: Event) -> Result<(), String> {
        self.steps += 1;
        let decision = match decide(&self.world, &event, self.now) {
            Ok(decision) => decision,
            Err(_) => return Ok(()),
        };
        let wrong = |who: &str, what: String| format!("{who}: {what}\n  {event:?}");
        self.rows.commit(&decision).map_err(|e| wrong("rows", e))?;
        apply(&mut self.world, &decision).map_err(|e| wrong("apply", e.to_string()))?;
        self.starts(&decision)?;
        for to in &decision.moves {
            self.hash = (self.hash ^ to.id.0 as u64 ^ (to.to.state as u64) << 32)
                .wrapping_mul(0x100_0000_01b3);
            self.blocked += u64::from(to.to.state == State::Blocked);
            self.skipped += u64::from(to.to.state == State::Skipped);
            if to.to.state != State::Running {
                self.live.remove(&to.at);
            }
        }
        let held = decision.ends.iter().filter(|end| !end.released);
        self.zombies.extend(held.map(|end| (end.at, end.end.attempt_no, end.end.token)));
        for effect in decision.effects {
            if let Effect::Start(at, attempt) = effect {
                self.live.insert(at, (attempt.attempt_no, attempt.token));
            }
        }
        Ok(())
    }

    /// An attempt starts only if, by the rows of this moment, every edge lets it go.
    fn starts(&mut self, decision: &Decision) -> Result<(), String> {
        for start in &decision.starts {
            let stored = &self.rows.runs[&start.at.run];
            let shape = &self.shapes[stored.row.dag_id.0 as usize];
            let mut edges = shape.defs[start.at.index as usize].dependencies.iter();
            let without = |edge: &Dependency| !self.said(edge, stored).lets_go();
            self.without += u64::from(edges.any(without));
            for (edge, verdict) in self.verdicts(start.at) {
                if !verdict.lets_go() {
                    return Err(format!(
                        "edges: {:?} started while {edge:?} {verdict:?}",
                        start.at
                    ));
                }
            }
        }
        Ok(())
    }

    /// What each edge of a task run says, by a naive reading of all rows.
    fn verdicts(&self, at: TaskRunRef) -> Vec<(Dependency, Verdict)> {
        let stored = &self.rows.runs[&at.run];
        let shape = &self.shapes[stored.row.dag_id.0 as usize];
        let edges = shape.defs[at.index as usize].dependencies.iter();
        edges.map(|edge| (edge.clone(), self.naive(edge, stored))).collect()
    }

    /// What an edge says, with how long it is waited for: from when the run was made, and no less
    /// than from its nominal time.
    fn naive(&self, edge: &Dependency, of: &super::rows::Stored) -> Verdict {
        let said = self.said(edge, of);
        let from = of.row.nominal_at.max(of.row.created_at);
        match edge.wait_up_to_ms {
            Some(wait) if self.now >= from.plus_millis(wait) && !said.lets_go() => Verdict::Holds,
            _ => said,
        }
    }

    fn said(&self, edge: &Dependency, of: &super::rows::Stored) -> Verdict {
        if edge.kind == EdgeKind::Weak {
            return Verdict::Holds;
        }
        let (dag, task) = place(&edge.upstream);
        let rule = EdgeRule::of(edge);
        let row = |row: &TaskRunRow| edge_verdict(&rule, Standing::of(&row.progress, None));
        if of.row.dag_id == DagId(dag as i64) && edge.is_here() {
            let id: TaskRunId = of.row.first_task_run_id.offset(task as u32);
            return row(&of.task_runs[&id]);
        }
        assert_eq!(edge.offset_unit, OffsetUnit::Day);
        let shape = &self.shapes[dag];
        let mut all = Vec::new();
        for offset in edge.offset_from..=edge.offset_to {
            let at = of.row.biz_date.plus_days(offset);
            let day = at.0 - 100;
            let newest: BTreeMap<Instant, &TaskRunRow> = self
                .runs_of(&edge.upstream, at)
                .into_iter()
                .map(|(_, row)| (row.nominal_at, row))
                .collect();
            let expected = shape.expected(day);
            let nominals: Vec<Instant> =
                if expected.is_empty() { newest.keys().copied().collect() } else { expected };
            let said: Vec<Verdict> = nominals
                .iter()
                .map(|at| match newest.get(at) {
                    Some(found) => row(found),
                    None if shape.paused.contains(&day) => Verdict::Broken,
                    None => Verdict::Waits,
                })
                .collect();
            match (edge.which, said.is_empty()) {
                (_, true) => all.push(match shape.absence(day) {
                    Absence::BeforeFirst | Absence::NoFire => Verdict::Holds,
                    Absence::Unscheduled => Verdict::Waits,
                    _ => Verdict::Broken,
                }),
                (Which::All, _) => all.extend(said),
                (Which::Last, _) => all.extend(said.last()),
                (Which::Any, _) => {
                    use Verdict::{Broken, Holds, Passed, Skip, Waits};
                    let best = [Holds, Waits, Broken, Skip, Passed];
                    all.extend(best.into_iter().find(|verdict| said.contains(verdict)));
                }
            }
        }
        let has = |verdict| all.contains(&verdict);
        match () {
            () if has(Verdict::Skip) => Verdict::Skip,
            () if has(Verdict::Broken) => Verdict::Broken,
            () if has(Verdict::Waits) => Verdict::Waits,
            () if has(Verdict::Passed) && !has(Verdict::Holds) => Verdict::Passed,
            () => Verdict::Holds,
        }
    }

    /// Where each task run that has not started stands is what its edges say.
    fn judge(&self, end: bool) -> Result<(), String> {
        for stored in self.rows.runs.values() {
            for index in 0..stored.row.task_count {
                let at = TaskRunRef { run: stored.row.id, index };
                let id = stored.row.first_task_run_id.offset(index);
                let progress = &stored.task_runs[&id].progress;
                if !matches!(progress.state, State::Pending | State::Blocked | State::Ready) {
                    continue;
                }
                let said = self.verdicts(at);
                let count = |verdict| said.iter().filter(|(_, v)| *v == verdict).count();
                let holds = said
                    .iter()
                    .filter(|(edge, v)| *v == Verdict::Holds && edge.kind != EdgeKind::Weak)
                    .count();
                let expected = match () {
                    () if count(Verdict::Skip) > 0 => State::Skipped,
                    () if count(Verdict::Broken) > 0 => State::Blocked,
                    () if count(Verdict::Waits) > 0 => State::Pending,
                    () if count(Verdict::Passed) > 0 && holds == 0 => State::Skipped,
                    () => State::Ready,
                };
                let delayed = progress.wake_at.is_some_and(|wake| wake > self.now);
                let is_so =
                    progress.state == expected || delayed && progress.state == State::Pending;
                if !is_so {
                    let why = mainspring::engine::explain(&self.world, at, self.now);
                    let why = why.map(|why| why.to_string()).unwrap_or_default();
                    let (step, found) = (self.steps, progress.state);
                    return Err(format!(
                        "states: {at:?} is {found} and not {expected} at step {step}: {said:?}; {why}"
                    ));
                }
                if end && progress.state == State::Ready {
                    return Err(format!("ends: {at:?} is still READY"));
                }
                if progress.state == State::Blocked {
                    self.named(at, progress.blocked_by)?;
                }
            }
        }
        Ok(())
    }

    /// What is BLOCKED names a task run that stands badly, or nothing where none is there to name.
    fn named(&self, at: TaskRunRef, root: Option<TaskRunId>) -> Result<(), String> {
        let Some(root) = root else { return Ok(()) };
        let rows = self.rows.runs.values().flat_map(|stored| stored.task_runs.values());
        let found = rows.into_iter().find(|row| row.id == root);
        match found.map(|row| row.progress.state) {
            Some(State::Failed | State::Timeout | State::Canceled | State::Skipped) => Ok(()),
            Some(State::Blocked) if found.is_some_and(|row| row.progress.blocked_by.is_none()) => {
                Ok(())
            }
            other => Err(format!("blocked_by: {at:?} names {root}, which is {other:?}")),
        }
    }

    /// The world read back from its rows has nothing to do that this one has not done.
    fn reread(&mut self) -> Result<(), String> {
        self.world = self.rows.world(4, NodeId(1));
        let before = self.hash;
        self.read()?;
        // What was waited for long enough is no longer, which no row says.
        self.step(Event::Tick)?;
        if self.world.next_wake().is_some() || self.world.has_ready(self.now) || self.hash != before
        {
            let due = (self.world.next_wake(), self.world.has_ready(self.now), self.hash == before);
            return Err(format!("level: read back it has something to do: {due:?}"));
        }
        Ok(())
    }
}

fn place(key: &str) -> (usize, usize) {
    let (dag, task) = key[1..].split_once(".t").unwrap();
    (dag.parse().unwrap(), task.parse().unwrap())
}

#[test]
fn edges_to_other_runs_are_as_a_naive_reading_has_them() {
    let seeds = match super::number("MAINSPRING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..super::number("MAINSPRING_WORLDS").unwrap_or(1000),
    };
    let (mut steps, mut blocked, mut skipped, mut without) = (0, 0, 0, 0);
    for seed in seeds.clone() {
        match Tale::tell(seed, Fault::None) {
            Ok(tale) => {
                steps += tale.steps;
                blocked += tale.blocked;
                skipped += tale.skipped;
                without += tale.without;
            }
            Err(wrong) => panic!("MAINSPRING_SEED={seed}: {wrong}"),
        }
    }
    println!(
        "{seeds:?}: {steps} decisions, {blocked} times blocked, {skipped} times skipped, {without} \
         starts without an upstream"
    );
    assert!(without > 0 || seeds.end - seeds.start < 100, "nobody goes on without an upstream");
}

#[test]
fn the_same_seed_tells_the_same_tale() {
    for seed in 0..20 {
        let hash = |seed| Tale::tell(seed, Fault::None).map(|tale| tale.hash);
        assert_eq!(hash(seed), hash(seed));
    }
}

#[test]
fn each_rule_that_is_taken_away_is_missed() {
    let caught = |fault: Fault, checker: &str| {
        super::caught_by(fault, checker, 0..200, |seed| Tale::tell(seed, fault));
    };
    caught(Fault::AllSucceeded, "edges");
    caught(Fault::NoExpectation, "edges");
    caught(Fault::OldestRun, "states");
    caught(Fault::ShiftedDate, "states");
    caught(Fault::NoWindow, "states");
    caught(Fault::PauseWaits, "states");
    caught(Fault::SkipsHold, "states");
    caught(Fault::WaitsForEver, "states");
    caught(Fault::HalfTheWait, "edges");
}
