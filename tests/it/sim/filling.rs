//! Worlds in which backfills are applied while regular runs go on: several dags whose tasks wait for
//! each other's dates, random plans, failures, crashes, refused commits, and people who pause, give
//! up and try again.
//!
//! `MAINSPRING_SEED=17 cargo test sim::filling` tells one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{
    Absence, CellAt, CellKey, Decision, Effect, Event, Found, Known, NewBackfill, Plan,
    PlannedTask, Report, RerunWhat, TaskRunRef, World, apply, decide, skip_codes,
};
use mainspring::model::{
    AttemptRecord, BackfillAsk, BackfillId, BackfillOrder, BackfillPlan, BackfillState,
    BackfillTask, DagId, Date, Dependency, Instant, NodeId, OnFailure, Only, Outcome, PlannedRun,
    RunId, RunState, State, Steer, TaskDef, TaskId, TaskRunRow, TaskSet, TaskVersionId, Token,
    Trigger, backfill_notes,
};

use super::rng::Rng;
use super::rows::MemoryRows;
use crate::checkers::backfills::{Backfills, Truth};
use crate::checkers::batches;
use crate::engine::bench::new_run;

/// A rule that is taken away, to see that its checker notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A set has a task more than was planned.
    WrongCells,
    /// The last run of the plan is lost.
    LostPlace,
    NoShare,
    NoMaxActive,
    NoClass,
    /// What others run is never heard of.
    NoInFlight,
    /// Edges between runs are as if they were not there.
    NoEdges,
    /// A failure stops nothing.
    NeverStops,
    /// What other runs put out counts as unchanged.
    AllUnchanged,
    /// Nobody knows whose runs are in a cell, so all of them count as changed.
    AllChanged,
    /// Each date of a batch runs for itself.
    NoBatch,
}

/// Seeds that found something once; told first.
const FOUND: &[u64] = &[5, 14, 55, 333, 513, 1476, 2038];

const DAY: i64 = 86_400_000_000;
const DAYS: i32 = 7;

struct Shape {
    plan: Arc<Plan>,
    tasks: Vec<PlannedTask>,
    fires: i64,
}

struct Tale {
    rng: Rng,
    fault: Fault,
    shapes: Vec<Shape>,
    world: World,
    rows: MemoryRows,
    now: Instant,
    live: BTreeMap<TaskRunRef, (u32, Token)>,
    zombies: Vec<(TaskRunRef, u32, Token)>,
    /// Cells that are open in another process.
    elsewhere: BTreeSet<(TaskId, Instant)>,
    truth: Truth,
    checker: Backfills,
    slots: u32,
    steps: u64,
    hash: u64,
    made: u64,
    states: BTreeMap<BackfillState, u64>,
    notes: BTreeMap<String, u64>,
    quiet: bool,
}

fn shapes(rng: &mut Rng) -> Vec<Shape> {
    let count = 1 + rng.below(3) as usize;
    // By a chance of its own, so that seeds that were kept tell what they told.
    let mut batches = Rng(rng.0 ^ 0xBA7C4);
    let any = batches.chance(500);
    (0..count)
        .map(|dag| {
            let mut tasks: Vec<PlannedTask> =
                (0..1 + rng.below(3) as usize).map(|at| task(rng, dag, at)).collect();
            for (at, task) in tasks.iter_mut().enumerate() {
                let own = format!("d{dag}.t{at}");
                let waits = task.def.dependencies.iter().any(|edge| edge.upstream == own);
                if any && !waits && batches.chance(500) {
                    task.def = Arc::new(TaskDef { batch: true, ..(*task.def).clone() });
                }
            }
            let id = DagId(dag as i64);
            let plan = Plan::build(id, &format!("d{dag}"), tasks.clone()).unwrap();
            Shape { plan: Arc::new(plan), tasks, fires: 1_000 + dag as i64 }
        })
        .collect()
}

fn task(rng: &mut Rng, dag: usize, at: usize) -> PlannedTask {
    let mut edges: BTreeMap<(String, i32), Dependency> = BTreeMap::new();
    for _ in 0..rng.below(3) {
        let (up, offset) = match rng.below(4) {
            // Its own past, an earlier task of the same run, the same day or the one before of an
            // earlier dag.
            0 => (format!("d{dag}.t{at}"), -1),
            1 if at > 0 => (format!("d{dag}.t{}", rng.below(at as u64)), 0),
            2 if dag > 0 => (format!("d{}.t0", rng.below(dag as u64)), 0),
            _ if dag > 0 => (format!("d{}.t0", rng.below(dag as u64)), -1),
            _ => continue,
        };
        let edge = Dependency {
            offset_from: offset,
            offset_to: offset,
            ..Dependency::on_success(up.clone())
        };
        edges.insert((up, offset), edge);
    }
    let policy = mainspring::model::TaskPolicy {
        max_attempts: Some(1 + rng.below(2) as u32),
        retry_interval_ms: 1_000,
        priority: rng.below(10) as u8,
        slots: if rng.chance(150) { 2 } else { 1 },
        preemptible: rng.chance(200),
        ..Default::default()
    };
    let text = serde_json::json!({"name": format!("t{at}"), "type": "noop",
        "policy": policy, "dependencies": edges.into_values().collect::<Vec<_>>()});
    let def = serde_json::from_value::<TaskDef>(text).unwrap();
    let id = (dag * 10 + at) as i64;
    let (task_id, version_id) = (TaskId(id), TaskVersionId(id));
    PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true }
}

impl Tale {
    fn tell(seed: u64, fault: Fault) -> Result<Tale, String> {
        let mut rng = Rng(seed);
        let shapes = shapes(&mut rng);
        let slots = 1 + rng.below(6) as u32;
        let rows = MemoryRows::new();
        let mut tale = Tale {
            rng,
            fault,
            shapes,
            world: rows.world(slots, NodeId(1)),
            rows,
            now: Instant(200 * DAY),
            live: BTreeMap::new(),
            zombies: Vec::new(),
            elsewhere: BTreeSet::new(),
            truth: Truth { slots, ..Truth::default() },
            checker: Backfills::default(),
            slots,
            steps: 0,
            hash: 0,
            made: 0,
            states: BTreeMap::new(),
            notes: BTreeMap::new(),
            quiet: false,
        };
        for _ in 0..90 {
            tale.something()?;
            if tale.world.next_wake().is_some_and(|wake| wake <= tale.now) {
                tale.happen(Event::Tick)?;
            }
        }
        tale.quiet = true;
        tale.elsewhere.clear();
        tale.reload()?;
        // What edges look at outside of the plans comes at last, and nothing fails any more.
        let paused = |tale: &Tale| -> Vec<BackfillId> {
            let all = tale.rows.backfills.values();
            let paused = all.filter(|known| known.row.state == BackfillState::Paused);
            paused.map(|known| known.row.id).collect()
        };
        for backfill in paused(&tale) {
            tale.steer(backfill, Steer::Resume)?;
        }
        for _ in 0..3 {
            for day in 0..DAYS {
                for dag in 0..tale.shapes.len() {
                    tale.make(dag, day, true)?;
                }
            }
            tale.finish()?;
        }
        let Tale { world, rows, truth, .. } = &tale;
        tale.checker.end(world, rows, truth)?;
        for known in tale.rows.backfills.values() {
            *tale.states.entry(known.row.state).or_default() += 1;
            tale.made += known.places.iter().filter(|place| place.0.is_some()).count() as u64;
            for note in known.places.iter().filter_map(|place| place.1.clone()) {
                *tale.notes.entry(note).or_default() += 1;
            }
        }
        Ok(tale)
    }

    fn something(&mut self) -> Result<(), String> {
        self.now = self.now + 500_000;
        match self.rng.below(16) {
            0..=1 => {
                let dag = self.rng.below(self.shapes.len() as u64) as usize;
                let day = self.rng.below(DAYS as u64) as i32;
                self.make(dag, day, false)
            }
            2 => self.begin(),
            3..=9 => {
                let ends = if self.rng.chance(150) { Outcome::Failed } else { Outcome::Success };
                self.end_one(ends)
            }
            10 => {
                let runs: Vec<RunId> = self.world.runs().map(|run| run.row.id).collect();
                if runs.is_empty() {
                    return Ok(());
                }
                let run = *self.rng.pick(&runs);
                match self.rng.below(4) {
                    0 => self.happen(Event::Cancel { run, only: None, grace_ms: Some(0) }),
                    _ if self.is_free(run) => {
                        self.happen(Event::Rerun { run, what: RerunWhat::Failed })
                    }
                    _ => Ok(()),
                }
            }
            11..=12 => {
                let all: Vec<BackfillId> = self.rows.backfills.keys().copied().collect();
                if all.is_empty() {
                    return Ok(());
                }
                let backfill = *self.rng.pick(&all);
                let words = [Steer::Pause, Steer::Resume, Steer::Halt, Steer::Retry, Steer::Resume];
                let words = if self.rng.chance(100) { &[Steer::Cancel][..] } else { &words };
                let steer = *self.rng.pick(words);
                self.steer(backfill, steer)
            }
            13 if self.rng.chance(300) => self.reload(),
            14 => {
                // Another process runs a cell, or has done so.
                let dag = self.rng.below(self.shapes.len() as u64) as usize;
                let day = self.rng.below(DAYS as u64) as i32;
                let shape = &self.shapes[dag];
                let at = Instant(i64::from(100 + day) * DAY + shape.fires);
                let task = self.rng.pick(&shape.tasks).task_id;
                if !self.elsewhere.remove(&(task, at)) {
                    self.elsewhere.insert((task, at));
                }
                Ok(())
            }
            _ => self.happen(Event::Tick),
        }
    }

    /// Whether nobody computes a cell of a run at the moment: people do not rerun into that.
    fn is_free(&self, run: RunId) -> bool {
        let run = &self.rows.runs[&run];
        let cells: BTreeSet<TaskId> = run.task_runs.values().map(|row| row.task_id).collect();
        self.rows.runs.values().all(|other| {
            other.row.id == run.row.id
                || other.row.nominal_at != run.row.nominal_at
                || other
                    .task_runs
                    .values()
                    .all(|row| row.progress.state.is_final() || !cells.contains(&row.task_id))
        })
    }

    /// A regular run of a dag for a day, if there is none; `last` is one that edges wait for.
    fn make(&mut self, dag: usize, day: i32, last: bool) -> Result<(), String> {
        let shape = &self.shapes[dag];
        let nominal_at = Instant(i64::from(100 + day) * DAY + shape.fires);
        let mut of_cell = self.rows.runs.values().filter(|stored| {
            stored.row.dag_id == DagId(dag as i64) && stored.row.nominal_at == nominal_at
        });
        // A fire waits while a backfill computes its cells, and comes once.
        let world = &self.world;
        let known = of_cell.any(|stored| {
            let filled = stored.row.backfill_id.is_some() && stored.row.finished_at.is_none();
            let run = world.run(stored.row.id).filter(|_| filled);
            let moves = [State::Ready, State::Running, State::RetryWait];
            stored.row.timed
                || run.is_some_and(|run| moves.iter().any(|state| run.count(*state) > 0))
        });
        if known {
            return Ok(());
        }
        // What only waits gives way to a fire, which may be what it waits for.
        let of_cell = self.rows.runs.values().filter(|stored| {
            stored.row.dag_id == DagId(dag as i64)
                && stored.row.nominal_at == nominal_at
                && stored.row.backfill_id.is_some()
                && stored.row.finished_at.is_none()
        });
        let waiting: Vec<RunId> = of_cell.map(|stored| stored.row.id).collect();
        let plan = Arc::clone(&shape.plan);
        for run in waiting {
            self.happen(Event::Cancel { run, only: None, grace_ms: Some(0) })?;
            // Its commit may have been refused.
            if self.rows.runs[&run].row.finished_at.is_none() {
                return Ok(());
            }
        }
        let mut new = new_run(&plan);
        new.nominal_at = nominal_at;
        new.biz_date = Date(100 + day);
        new.timed = true;
        new.trigger = if last { Trigger::Manual } else { Trigger::Schedule };
        self.happen(Event::CreateRun(new))
    }

    /// Somebody plans some cells and applies that.
    fn begin(&mut self) -> Result<(), String> {
        let mut plan = self.random_plan();
        if plan.runs.is_empty() || self.overlaps(&plan) {
            return Ok(());
        }
        let id = BackfillId(self.rows.backfills.len() as i64 + 1);
        self.truth.plans.insert(id, Arc::new(plan.clone()));
        let sets: Vec<Vec<PlannedTask>> = plan
            .sets
            .iter()
            .map(|set| {
                let dag = &self.shapes[set.dag[1..].parse::<usize>().unwrap()];
                let named = |task: &u32| {
                    let id = plan.tasks[*task as usize].task_id;
                    dag.tasks.iter().find(|task| task.task_id == id).unwrap().clone()
                };
                let mut tasks: Vec<PlannedTask> = set.tasks.iter().map(named).collect();
                if self.fault == Fault::WrongCells {
                    let other = dag.tasks.iter().find(|task| !tasks.contains(task));
                    tasks.extend(other.cloned());
                }
                tasks
            })
            .collect();
        let plans: Vec<Arc<Plan>> = (plan.sets.iter().zip(sets))
            .map(|(set, tasks)| {
                let dag = DagId(set.dag[1..].parse().unwrap());
                let mut plan = Plan::part(dag, &set.dag, tasks, &BTreeSet::new()).unwrap();
                if self.fault == Fault::NoEdges {
                    plan.across = vec![Vec::new(); plan.tasks.len()];
                }
                Arc::new(plan)
            })
            .collect();
        match self.fault {
            Fault::LostPlace => drop(plan.runs.pop()),
            Fault::NoShare => plan.ask.share = 100,
            Fault::NoMaxActive => plan.ask.max_active = 100,
            Fault::NoClass => plan.ask.priority = 0,
            Fault::NoBatch => plan.tasks.iter_mut().for_each(|task| task.batch = false),
            Fault::NeverStops => plan.ask.on_failure = OnFailure::Continue,
            _ => {}
        }
        let plan = Arc::new(plan);
        self.happen(Event::NewBackfill(NewBackfill { id, plan, plans, requested_by: None }))
    }

    fn random_plan(&mut self) -> BackfillPlan {
        let mut plan = BackfillPlan::nothing();
        plan.ask = BackfillAsk {
            dag: "d0".into(),
            only: Only::All,
            order: BackfillOrder::Asc,
            max_active: 1 + self.rng.below(4) as u32,
            on_failure: *self.rng.pick(&[OnFailure::Continue, OnFailure::Stop]),
            priority: self.rng.below(10) as u8,
            share: 1 + self.rng.below(100) as u8,
            reprocess: self.rng.chance(500),
            ..plan.ask
        };
        let mut index: BTreeMap<TaskId, u32> = BTreeMap::new();
        for (dag, shape) in self.shapes.iter().enumerate() {
            for task in &shape.tasks {
                index.insert(task.task_id, plan.tasks.len() as u32);
                plan.tasks.push(BackfillTask {
                    dag: format!("d{dag}"),
                    name: task.def.name.clone(),
                    task_id: task.task_id,
                    version_id: task.version_id,
                    batch: task.def.batch,
                });
            }
        }
        let mut sets: BTreeMap<(usize, Vec<u32>), u32> = BTreeMap::new();
        let (first, days) = (self.rng.below(DAYS as u64) as i32, 1 + self.rng.below(5) as i32);
        let mut group = 0;
        for day in first..(first + days).min(DAYS) {
            for dag in 0..self.shapes.len() {
                if self.rng.chance(250) {
                    continue;
                }
                let shape = &self.shapes[dag];
                let mut tasks: Vec<u32> = shape.tasks.iter().map(|t| index[&t.task_id]).collect();
                if self.rng.chance(400) {
                    tasks = vec![*self.rng.pick(&tasks)];
                }
                let known = sets.len() as u32;
                let keep = match plan.ask.reprocess {
                    true => tasks.iter().copied().filter(|_| self.rng.chance(800)).collect(),
                    false => Vec::new(),
                };
                let set = *sets.entry((dag, tasks.clone())).or_insert_with(|| {
                    plan.sets.push(TaskSet {
                        dag: format!("d{dag}"),
                        tasks,
                        keep,
                        timezone: "UTC".into(),
                        alone: false,
                    });
                    known
                });
                if !self.rng.chance(150) {
                    group += 1;
                }
                let nominal_at = Instant(i64::from(100 + day) * DAY + shape.fires);
                let interval = (Instant(nominal_at.0 - DAY), nominal_at);
                let biz_date = Date(100 + day);
                plan.runs.push(PlannedRun { set, group, nominal_at, biz_date, interval });
            }
        }
        plan.hash = self.rng.below(u64::MAX).to_string();
        plan
    }

    /// The store refuses a plan of which an open backfill has a cell.
    fn overlaps(&self, plan: &BackfillPlan) -> bool {
        let open = |id: &&BackfillId| {
            self.rows.backfills.get(*id).is_some_and(|known| !known.row.state.is_final())
        };
        let mut cells = BTreeSet::new();
        for id in self.truth.plans.keys().filter(open) {
            let known = &self.rows.backfills[id];
            for (run, place) in self.truth.plans[id].runs.iter().zip(&known.places) {
                let is_open = match place {
                    (Some(run), _) => self.rows.runs[run].row.state == RunState::Running,
                    (None, note) => note.is_none(),
                };
                if is_open {
                    let set = &self.truth.plans[id].sets[run.set as usize];
                    cells.extend(set.tasks.iter().map(|task| (run.nominal_at, *task)));
                }
            }
        }
        plan.runs.iter().any(|run| {
            let set = &plan.sets[run.set as usize];
            set.tasks.iter().any(|task| cells.contains(&(run.nominal_at, *task)))
        })
    }

    fn steer(&mut self, backfill: BackfillId, steer: Steer) -> Result<(), String> {
        if steer == Steer::Retry && self.retries_into_others(backfill) {
            return Ok(());
        }
        self.happen(Event::Steer { backfill, steer, grace_ms: Some(0) })
    }

    /// A backfill that is tried again after its end has cells that another one has by now.
    fn retries_into_others(&self, backfill: BackfillId) -> bool {
        let known = &self.rows.backfills[&backfill];
        let left = |(place, run): (&(Option<RunId>, Option<String>), &PlannedRun)| {
            (place.1.as_deref() == Some(backfill_notes::NOT_STARTED)).then_some(run.nominal_at)
        };
        let plan = &self.truth.plans[&backfill];
        let mine: BTreeSet<Instant> =
            known.places.iter().zip(&plan.runs).filter_map(left).collect();
        self.truth.plans.iter().any(|(id, plan)| {
            *id != backfill
                && self.rows.backfills.get(id).is_some_and(|known| !known.row.state.is_final())
                && plan.runs.iter().any(|run| mine.contains(&run.nominal_at))
        })
    }

    fn end_one(&mut self, outcome: Outcome) -> Result<(), String> {
        let live: Vec<TaskRunRef> = self.live.keys().copied().collect();
        if live.is_empty() {
            return Ok(());
        }
        let at = *self.rng.pick(&live);
        let (attempt_no, token) = self.live.remove(&at).unwrap();
        let result = (outcome == Outcome::Success).then(|| Arc::from("1"));
        let record = AttemptRecord {
            fingerprint: Some("1".into()),
            unchanged: self.rng.chance(700),
            ..AttemptRecord::default()
        };
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
        for _ in 0..20_000 {
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
        self.world = self.rows.world(self.slots, NodeId(1));
        self.happen(Event::NodeLost { node: NodeId(1) })
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        self.step(event)?;
        for (at, attempt_no, token) in std::mem::take(&mut self.zombies) {
            self.step(Event::AttemptReleased { at, attempt_no, token })?;
        }
        for _ in 0..1_000 {
            self.read()?;
            if let Some(backfill) = self.world.next_fill() {
                self.step(Event::Fill(backfill))?;
            } else if self.world.has_ready(self.now) {
                self.step(Event::Dispatch)?;
            } else {
                return Ok(());
            }
        }
        Err("ends: there is always something more to do".into())
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
        let (dag, task) = key.upstream[1..].split_once(".t").unwrap();
        let (dag, task): (usize, i64) = (dag.parse().unwrap(), task.parse().unwrap());
        let task = TaskId(dag as i64 * 10 + task);
        let expected: BTreeMap<Instant, bool> = match key.at {
            CellAt::Instant(at) => BTreeMap::from([(at, false)]),
            CellAt::Date(date) if date.0 < 100 => BTreeMap::new(),
            CellAt::Date(date) => {
                let at = Instant(i64::from(date.0) * DAY + self.shapes[dag].fires);
                BTreeMap::from([(at, false)])
            }
            _ => panic!("{key:?}"),
        };
        let rows = self.rows.runs.values().flat_map(|stored| {
            let rows = stored.task_runs.values().map(move |row| (stored.row.id, row));
            rows.filter(|(_, row)| row.task_id == task && expected.contains_key(&row.nominal_at))
        });
        let found = |(run, row): (RunId, &TaskRunRow)| {
            let progress = &row.progress;
            let (code, result) = (progress.code.clone(), progress.result.clone());
            let (state, blocked_by) = (progress.state, progress.blocked_by);
            let texts = None;
            let unchanged = progress.unchanged || self.fault == Fault::AllUnchanged;
            let task_run = row.id;
            let found = Found { run, task_run, state, code, unchanged, blocked_by, result, texts };
            (row.nominal_at, found)
        };
        let found = rows.map(found).collect();
        let absence = Absence::BeforeFirst;
        let task = (self.fault != Fault::AllChanged).then_some(task);
        Known { expected, absence, task, found, declared: false }
    }

    fn step(&mut self, event: Event) -> Result<(), String> {
        self.steps += 1;
        self.hash = self.hash.wrapping_mul(31).wrapping_add(self.world.runs().count() as u64);
        let Ok(mut decision) = decide(&self.world, &event, self.now) else { return Ok(()) };
        // The commit finds that others run a cell: the world is read anew, and knows that.
        let mut known = Vec::new();
        while let Some(open) = self.is_open_elsewhere(&decision) {
            self.world = self.reread();
            known.extend(open);
            for (task, at) in known.iter().copied() {
                self.world.know_open(task, at);
            }
            match decide(&self.world, &event, self.now) {
                Ok(again) => decision = again,
                Err(_) => return Ok(()),
            }
        }
        if !self.quiet && self.rng.chance(20) && !matches!(event, Event::Read(_)) {
            // Somebody took the ids: all is decided anew, some day.
            self.world = self.reread();
            return Ok(());
        }
        self.truth.elsewhere.clone_from(&self.elsewhere);
        batches::before(&decision, &self.rows, &self.truth)?;
        self.checker.before(&self.world, &event, &decision, &self.rows, &self.truth)?;
        apply(&mut self.world, &decision).map_err(|broken| format!("apply: {broken}"))?;
        self.world.forget_open();
        self.rows.commit(&decision).map_err(|wrong| format!("rows: {wrong}"))?;
        self.checker.after(&self.world, &self.rows, &self.truth, self.now)?;
        for end in &decision.ends {
            self.live.remove(&end.at);
            if !end.released {
                let (attempt_no, token) = (end.end.attempt_no, end.end.token);
                self.zombies.push((end.at, attempt_no, token));
            }
        }
        for effect in decision.effects {
            match effect {
                Effect::Start(at, attempt) => {
                    self.live.insert(at, (attempt.attempt_no, attempt.token));
                }
                Effect::Stop { at, attempt_no, token, .. } => {
                    self.obey(at, attempt_no, token)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An attempt that is asked to stop does so at once.
    fn obey(&mut self, at: TaskRunRef, attempt_no: u32, token: Token) -> Result<(), String> {
        if self.live.remove(&at).is_none() {
            return Ok(());
        }
        self.zombies.push((at, attempt_no, token));
        self.step(Event::AttemptEnded(Report {
            at,
            attempt_no,
            token,
            outcome: Outcome::Canceled,
            result: None,
            result_uri: None,
            record: AttemptRecord::default(),
            released: true,
            texts: None,
        }))
    }

    /// Cells of runs that a decision makes for backfills and that others run.
    fn is_open_elsewhere(&self, decision: &Decision) -> Option<Vec<(TaskId, Instant)>> {
        if self.fault == Fault::NoInFlight {
            return None;
        }
        let made = decision.creates.iter().filter(|create| create.row.backfill_id.is_some());
        let cells = made.flat_map(|create| {
            let at = create.row.nominal_at;
            create.plan.0.tasks.iter().map(move |task| (task.task_id, at))
        });
        let open: Vec<_> = cells.filter(|cell| self.elsewhere.contains(cell)).collect();
        (!open.is_empty()).then_some(open)
    }

    /// How many task runs were left as they are.
    fn kept(&self) -> usize {
        let rows = self.rows.runs.values().flat_map(|stored| stored.task_runs.values());
        rows.filter(|row| row.progress.code.as_deref() == Some(skip_codes::UNCHANGED)).count()
    }

    /// The same process reads its rows anew; what is halted stays so.
    fn reread(&self) -> World {
        let mut world = self.rows.world(self.slots, NodeId(1));
        let halted = self.world.backfills().filter(|known| known.is_halted());
        for id in halted.map(|known| known.row.id).collect::<Vec<_>>() {
            world.halt(id, true);
        }
        world
    }
}

#[test]
fn a_backfill_touches_the_cells_that_it_names_and_no_others() {
    let seeds = match super::number("MAINSPRING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..super::number("MAINSPRING_WORLDS").unwrap_or(1000),
    };
    let (mut steps, mut made, mut kept) = (0, 0, 0);
    let (mut states, mut notes) = (BTreeMap::new(), BTreeMap::new());
    for seed in FOUND.iter().copied().chain(seeds.clone()) {
        match Tale::tell(seed, Fault::None) {
            Ok(tale) => {
                steps += tale.steps;
                made += tale.made;
                kept += tale.kept();
                tale.states.iter().for_each(|(s, n)| *states.entry(*s).or_insert(0) += n);
                tale.notes.iter().for_each(|(s, n)| *notes.entry(s.clone()).or_insert(0) += n);
            }
            Err(wrong) => panic!("MAINSPRING_SEED={seed}: {wrong}"),
        }
    }
    println!("{seeds:?}: {steps} decisions, {made} runs made, {states:?}, not made: {notes:?}");
    let worlds = seeds.end - seeds.start;
    if worlds >= 1000 {
        use BackfillState::{Canceled, Failed, Success};
        assert!(kept as u64 > worlds / 10, "{kept} were left as they are in {worlds} worlds");
        assert!([Success, Failed, Canceled].iter().all(|state| states.contains_key(state)));
        assert!(
            [backfill_notes::RUNNING, backfill_notes::NOT_STARTED]
                .iter()
                .all(|note| notes.contains_key(*note))
        );
    }
}

#[test]
fn the_same_seed_tells_the_same_tale() {
    for seed in 0..20 {
        let hash = |seed| Tale::tell(seed, Fault::None).map(|tale| (tale.hash, tale.steps));
        assert_eq!(hash(seed), hash(seed));
    }
}

#[test]
fn each_rule_of_backfills_that_is_taken_away_is_missed() {
    let caught = |fault: Fault, checker: &str| {
        super::caught_by(fault, checker, 0..300, |seed| Tale::tell(seed, fault));
    };
    caught(Fault::WrongCells, "cells");
    caught(Fault::LostPlace, "cells");
    caught(Fault::NoShare, "share");
    caught(Fault::NoMaxActive, "max_active");
    caught(Fault::NoClass, "class");
    caught(Fault::NoInFlight, "in_flight");
    caught(Fault::NoEdges, "order");
    caught(Fault::AllUnchanged, "unchanged");
    caught(Fault::AllChanged, "unchanged");
    caught(Fault::NeverStops, "stop");
    caught(Fault::NoBatch, "batch");
}
