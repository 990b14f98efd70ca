//! Random worlds: a few dags of a few tasks, with schedules, edges and a past.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use mainspring::engine::PlannedTask;
use mainspring::engine::backfill::{DagFacts, Facts, Life, Past};
use mainspring::engine::check_definition;
use mainspring::model::{
    BackfillAsk, BackfillId, BackfillOrder, DagDef, DagId, Date, Dependency, EdgeKind, Instant,
    OffsetUnit, OnFailure, Only, PastCell, Period, PeriodKind, RunId, ScheduleDef, State, TaskDef,
    TaskId, TaskVersionId, Which,
};
use mainspring::policy::splitmix64;
use serde_json::json;

use super::naive;

/// Chance.
pub struct Dice(u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = splitmix64(self.0);
        (self.0 >> 16) % most
    }

    pub fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// What is remembered.
#[derive(Clone, Default)]
pub struct Remembered {
    pub rows: Vec<(TaskId, PastCell)>,
    pub definitions: BTreeMap<TaskVersionId, Arc<TaskDef>>,
}

impl Past for Remembered {
    type Error = Infallible;

    fn cells(
        &mut self,
        task: TaskId,
        (from, to): (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), Infallible> {
        let rows = self.rows.iter().filter(|(of, _)| *of == task).map(|(_, row)| *row);
        rows.filter(|row| (from..=to).contains(&row.biz_date)).for_each(each);
        Ok(())
    }

    fn definition(&mut self, version: TaskVersionId) -> Result<Option<Arc<TaskDef>>, Infallible> {
        Ok(self.definitions.get(&version).cloned())
    }

    fn durations(&mut self, task: TaskId, _: u32) -> Result<Vec<i64>, Infallible> {
        Ok(vec![task.0 * 1_000; 3])
    }
}

pub struct World {
    pub facts: Facts,
    pub defs: Vec<DagDef>,
    pub ask: BackfillAsk,
    pub past: Remembered,
    pub now: Instant,
}

/// Everything happens around here.
pub const FIRST: Date = Date(19_723);

const SCHEDULES: &[&str] = &[
    "0 2 * * *",
    "30 3 * * *",
    "0 */8 * * *",
    "0 4 * * MON",
    "0 5 1 * *",
    "0 6 L * *",
    "0 7 * * MON-FRI",
    "",
];

impl World {
    pub fn new(seed: u64) -> World {
        let mut dice = Dice(splitmix64(seed ^ 0xbac_cf11));
        let zone = dice.of(&["UTC", "Asia/Shanghai", "America/New_York"]);
        let mut defs: Vec<DagDef> = Vec::new();
        for at in 0..1 + dice.below(3) {
            defs.push(dag(&mut dice, at, zone, &defs));
        }
        let now = Instant::from_secs((i64::from(FIRST.0) + 70) * 86_400 + 7_777);
        let mut facts = Facts::default();
        let mut past = Remembered::default();
        let mut ids = 0;
        for (def, id) in defs.iter().zip(1..) {
            facts.dags.push(registered(&mut dice, def, id, &mut ids, &mut past));
        }
        let from = FIRST.plus_days(30 + dice.below(30) as i32);
        let asked = dice.below(defs.len() as u64) as usize;
        let mut ask = BackfillAsk {
            dag: defs[asked].key.clone(),
            tasks: None,
            from,
            to: from.plus_days(dice.below(20) as i32),
            only: dice.of(Only::ALL),
            also: Vec::new(),
            order: dice.of(BackfillOrder::ALL),
            max_active: 1 + dice.below(4) as u32,
            upstream: dice.one_in(3),
            downstream: dice.one_in(2),
            on_failure: OnFailure::Continue,
            params: Default::default(),
            force: dice.one_in(4),
            reprocess: dice.one_in(6),
            priority: 7,
            share: 50,
        };
        if dice.one_in(3) {
            ask.also.push(dice.of(Only::ALL));
        }
        if dice.one_in(3) {
            ask.tasks = Some(vec![defs[asked].tasks[0].name.clone()]);
        }
        let mut world = World { facts, defs, ask, past, now };
        world.remember(&mut dice);
        world
    }

    /// Gives cells a past, each in one run or two.
    fn remember(&mut self, dice: &mut Dice) {
        let cells = naive::Cells::of(self);
        let mut run = 0;
        let often = 1 + dice.below(8);
        for (task, of) in cells.tasks.iter().enumerate() {
            for (date, at) in cells.fires(task) {
                if !dice.one_in(often + 1) && *at <= self.now {
                    for _ in 0..1 + dice.below(8) / 6 {
                        run += 1;
                        let row = cell(dice, of.task.version_id, *date, *at, run);
                        self.past.rows.push((of.task.task_id, row));
                    }
                }
                if dice.one_in(40) {
                    self.facts.held.insert((of.task.task_id, *at), BackfillId(9));
                }
            }
        }
    }

    /// In words, for whoever looks for a fault.
    pub fn told(&self) -> String {
        let mut text = format!("{:?}\nnow {}\n", self.ask, self.now);
        for def in &self.defs {
            let schedules: Vec<&str> =
                def.schedules.iter().map(|each| each.rule.expression.as_str()).collect();
            let _ = writeln!(text, "{} {schedules:?} {:?}", def.key, def.timezone);
            for task in &def.tasks {
                let edges: Vec<String> = task
                    .dependencies
                    .iter()
                    .map(|edge| {
                        let (from, to, unit) = (edge.offset_from, edge.offset_to, edge.offset_unit);
                        format!(
                            "{} {from}..{to} {unit} {} {}",
                            edge.upstream, edge.which, edge.kind
                        )
                    })
                    .collect();
                let _ = writeln!(text, "  {} {edges:?}", task.name);
            }
        }
        text
    }
}

fn cell(dice: &mut Dice, version: TaskVersionId, date: Date, at: Instant, run: i64) -> PastCell {
    let state = match dice.below(12) {
        0 => State::Failed,
        1 => dice.of(&[State::Canceled, State::Blocked, State::Timeout]),
        2 => dice.of(&[State::Running, State::Pending]),
        3 => State::Skipped,
        _ => State::Success,
    };
    let version = match dice.below(6) {
        // Another content, and the same content under another number.
        0 => TaskVersionId(version.0 + 1_000),
        1 => TaskVersionId(version.0 + 2_000),
        _ => version,
    };
    let after = Instant::SECOND * (3_600 + dice.below(20_000) as i64);
    PastCell {
        nominal_at: at,
        biz_date: date,
        run: RunId(run),
        version,
        state,
        disabled: state == State::Skipped && dice.one_in(3),
        live: state == State::Blocked && dice.one_in(2),
        stale: dice.one_in(20),
        finished_at: state.is_final().then(|| at.plus_micros(after)),
        revision: 4,
    }
}

fn dag(dice: &mut Dice, at: u64, zone: &str, others: &[DagDef]) -> DagDef {
    let expression = dice.of(SCHEDULES);
    let number = 1 + dice.below(3);
    let tasks: Vec<_> =
        (0..number).map(|n| json!({"name": format!("t{n}"), "type": "noop"})).collect();
    let mut spec = json!({"name": format!("d{at}"), "timezone": zone, "tasks": tasks});
    let mut schedules = Vec::new();
    if !expression.is_empty() {
        let mut schedule = json!({"expression": expression});
        if dice.one_in(4) {
            schedule["start_date"] = json!(FIRST.plus_days(35).to_string());
        }
        if dice.one_in(4) {
            let days = json!({"name": "open", "weekdays": [0, 1, 2, 3, 4], "include": [],
                              "exclude": [FIRST.plus_days(40).to_string()]});
            schedule["calendar"] = days;
        }
        schedules.push(schedule);
    }
    spec["schedule"] = json!(schedules);
    let mut def = check_definition(&spec).unwrap_or_else(|problems| panic!("{problems}"));
    if number > 1 && !expression.is_empty() && dice.one_in(4) {
        // A task with a schedule of its own.
        let mut own = def.schedules[0].clone();
        own.name = "own".into();
        own.rule.expression = "15 9 * * *".into();
        own.bindings[0].task = Some("t1".into());
        def.schedules.push(own);
    }
    for task in 0..def.tasks.len() {
        for _ in 0..dice.below(3) {
            if let Some(edge) = edge(dice, &def, task, others) {
                let edges = &mut def.tasks[task].dependencies;
                if edges.iter().all(|known| known.upstream != edge.upstream) {
                    edges.push(edge);
                }
            }
        }
    }
    def
}

fn edge(dice: &mut Dice, def: &DagDef, task: usize, others: &[DagDef]) -> Option<Dependency> {
    let own = others.is_empty() || dice.one_in(2);
    let (dag, up) = if own {
        (def, dice.below(def.tasks.len() as u64) as usize)
    } else {
        let other = &others[dice.below(others.len() as u64) as usize];
        (other, dice.below(other.tasks.len() as u64) as usize)
    };
    let mut edge = Dependency::on_success(format!("{}.{}", dag.key, dag.tasks[up].name));
    let back = if own && up >= task { 1 } else { 0 };
    let from = back + dice.below(3) as i32;
    (edge.offset_to, edge.offset_from) = (-(from.min(back + 1)), -from.max(back));
    edge.offset_unit = dice.of(&[
        OffsetUnit::Day,
        OffsetUnit::Day,
        OffsetUnit::Day,
        OffsetUnit::Week,
        OffsetUnit::Month,
        OffsetUnit::Slot,
    ]);
    if own && back == 0 && dice.one_in(2) {
        (edge.offset_from, edge.offset_to, edge.offset_unit) = (0, 0, OffsetUnit::Day);
    }
    edge.which = dice.of(&[Which::All, Which::All, Which::Last]);
    edge.kind =
        dice.of(&[EdgeKind::Success, EdgeKind::Success, EdgeKind::Completed, EdgeKind::Weak]);
    // What looks at its own run closes a circle where it is itself, or comes later.
    let is_here = edge.is_here() && own;
    (!is_here || up < task).then_some(edge)
}

fn registered(
    dice: &mut Dice,
    def: &DagDef,
    id: i64,
    ids: &mut i64,
    past: &mut Remembered,
) -> DagFacts {
    let tasks = def.tasks.iter().map(|task| {
        *ids += 1;
        let version = *ids + 100;
        let other = TaskDef { doc: Some("older".into()), ..task.clone() };
        past.definitions.insert(TaskVersionId(version + 1_000), Arc::new(other));
        past.definitions.insert(TaskVersionId(version + 2_000), Arc::new(task.clone()));
        let planned = PlannedTask {
            task_id: TaskId(*ids),
            version_id: TaskVersionId(version),
            def: Arc::new(task.clone()),
            enabled: !dice.one_in(12),
        };
        (planned, 1)
    });
    let tasks: Vec<_> = tasks.collect();
    let from = Instant::from_secs((i64::from(FIRST.0) + dice.below(60) as i64) * 86_400 + 77);
    let life = |schedule: &ScheduleDef| {
        let rule = schedule.rule.clone();
        (schedule.clone(), vec![Period { from, until: None, kind: PeriodKind::Active, rule }])
    };
    let of_dag = def.schedules.iter().filter(|each| each.binds_dag()).map(life).collect();
    let mut lives = Vec::new();
    let own = |name: &str| def.has_own_schedule(name);
    if def.tasks.iter().any(|task| !own(&task.name)) {
        lives.push(Life { task: None, schedules: of_dag });
    }
    for (index, task) in def.tasks.iter().enumerate().filter(|(_, task)| own(&task.name)) {
        let schedules = def.schedules.iter().filter(|each| each.binds_task(&task.name)).map(life);
        lives.push(Life { task: Some(index), schedules: schedules.collect() });
    }
    DagFacts {
        id: DagId(id),
        key: def.key.clone(),
        timezone: def.timezone.clone(),
        biz_offset: def.biz_offset,
        tasks,
        shares: Vec::new(),
        lives,
    }
}
