//! Worlds with schedules: they fire, are edited, paused and removed, while their process looks
//! late, comes up again from its rows, or finds its clock set back. Told over a real store.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::{
    Decision, Event, NewRun, Plan, PlannedTask, Report, Scheduled, Served, World, apply,
    check_definition, decide,
};
use mainspring::model::{
    AttemptRecord, Binding, DagDef, DagId, Date, Instant, Missed, NodeId, NodeRow, Outcome,
    Overlap, PeriodKind, RunId, ScheduleDef, ScheduleId, ScopeLease, TimeRule, TimedKey, Trigger,
};
use mainspring::store::{CommitError, MemoryStore, Store};
use serde_json::json;

use super::batch::batch_of;
use super::lives::{HOUR, Life, MINUTE, Shape};
use super::rng::Rng;
use super::rows::MemoryRows;
use crate::checkers::{Checker, Step, Truth, of_fires};

/// A rule that is taken away, to see that its checker notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireFault {
    None,
    WatermarkTooFar,
    SkipTwice,
    LostFire,
    EditBackwards,
    CapIgnored,
    PauseIgnored,
    LinkMakesRun,
    LooksAhead,
    ForgetsWaiting,
}

/// Friday 2024-06-07, 00:00 UTC.
const START: Instant = Instant::from_secs(1_717_718_400);
/// A day's work of a schedule takes fewer decisions.
const LONGEST: u64 = 20_000;
const SCOPE: &str = "schedules";

#[derive(Debug, Default)]
pub struct Tale {
    pub decisions: u64,
    pub runs: u64,
    pub skips: u64,
    pub links: u64,
    pub refused: u64,
}

pub struct FireStory {
    pub rng: Rng,
    pub fault: FireFault,
    pub truth: Truth,
    world: World,
    store: MemoryStore,
    lease: ScopeLease,
    checkers: Vec<Box<dyn Checker>>,
    pub now: Instant,
    went_back: bool,
    dags: Vec<DagDef>,
    ids: Vec<DagId>,
    judged: BTreeMap<ScheduleId, Scheduled>,
    known: Vec<(TimedKey, RunId)>,
    plans: BTreeMap<RunId, Arc<Plan>>,
    /// Attempts that run, by when they end.
    ends: BTreeMap<(Instant, RunId, u32), Report>,
    tale: Tale,
}

type Told = Result<(), String>;

impl FireStory {
    pub fn tell(seed: u64, fault: FireFault) -> Result<Tale, String> {
        let mut store = MemoryStore::new();
        let lease = store.join(&node()).unwrap();
        let mut story = FireStory {
            rng: Rng(seed ^ 0x5eed_f19e),
            fault,
            truth: Truth::default(),
            world: World::new((1, 1), 64, NodeId(0), lease.scope_id),
            store,
            lease,
            checkers: of_fires(),
            now: START,
            went_back: false,
            dags: Vec::new(),
            ids: Vec::new(),
            judged: BTreeMap::new(),
            known: Vec::new(),
            plans: BTreeMap::new(),
            ends: BTreeMap::new(),
            tale: Tale::default(),
        };
        story.begin()?;
        for _ in 0..30 + story.rng.below(60) {
            story.something()?;
        }
        story.wait(HOUR)?;
        for checker in &mut story.checkers {
            let found = checker.end(&story.world, &MemoryRows::new());
            found.map_err(|wrong| format!("{}: {wrong}", checker.name()))?;
        }
        let mut broken = story.store.verify().unwrap();
        if story.went_back {
            // Its runs may end before they begin.
            broken.retain(|found| found.invariant != "L4");
        }
        if !broken.is_empty() {
            return Err(format!("verify: {broken:?}"));
        }
        #[cfg(feature = "runtime")]
        {
            let proof = mainspring::runtime::prove_fires(&mut story.store, 100_000).unwrap();
            if !proof.violations.is_empty() {
                return Err(format!("prove: {:?}", proof.violations));
            }
        }
        Ok(story.tale)
    }

    fn begin(&mut self) -> Told {
        for dag in 0..1 + self.rng.below(2) {
            let spec = json!({"name": format!("d{dag}"), "tasks": [
                {"name": "load", "type": "noop"}, {"name": "own", "type": "noop"},
            ]});
            let mut def = check_definition(&spec).unwrap();
            def.max_active_runs = 1 + self.rng.below(4) as u32;
            self.dags.push(def);
            self.ids.push(DagId(0));
        }
        for _ in 0..self.rng.below(5) {
            let dag = self.rng.below(self.dags.len() as u64) as usize;
            let def = self.new_schedule(dag);
            self.dags[dag].schedules.push(def);
        }
        self.restart()
    }

    fn new_schedule(&mut self, dag: usize) -> ScheduleDef {
        let name = format!("s{}", self.dags[dag].schedules.len());
        let rule = TimeRule::new(Shape::new(&mut self.rng).text(), "UTC");
        let mut bindings = vec![Binding::default()];
        if self.rng.chance(200) {
            let own = Binding { task: Some("own".into()), ..Binding::default() };
            bindings = if self.rng.chance(500) { vec![own] } else { vec![bindings.remove(0), own] };
        }
        ScheduleDef {
            missed: *self.rng.pick(Missed::ALL),
            missed_window_ms: (1 + self.rng.below(40) as i64) * HOUR,
            overlap: *self.rng.pick(Overlap::ALL),
            paused: self.rng.chance(100),
            bindings,
            ..ScheduleDef::new(name, rule)
        }
    }

    /// Registers all dags as they are now, and notes what that means.
    fn register(&mut self) {
        let edits = self.fault == FireFault::EditBackwards && self.tale.runs > 0;
        let at = if edits { self.now.plus_millis(-30 * HOUR) } else { self.now };
        let registered = self.store.register(&self.dags.clone(), at).unwrap();
        for (nth, dag) in registered.iter().enumerate() {
            self.ids[nth] = dag.id;
            self.truth.most.insert(dag.id, self.dags[nth].max_active_runs);
            for (id, def) in &dag.schedules {
                let shape = shape_of(&def.rule.expression);
                let life = self.truth.lives.entry(*id);
                let life = life.or_insert_with(|| Life::new(shape, def.paused, self.now));
                let back = life.last().kind == PeriodKind::Removed;
                let kind = match def.paused {
                    true => PeriodKind::Paused,
                    false if back => PeriodKind::Active,
                    false => life.last().kind,
                };
                life.turn(kind, shape, self.now);
                life.missed = def.missed;
                life.window_ms = def.missed_window_ms;
                life.overlap = def.overlap;
            }
        }
        let there: Vec<ScheduleId> =
            registered.iter().flat_map(|dag| dag.schedules.iter().map(|(id, _)| *id)).collect();
        for (id, life) in &mut self.truth.lives {
            if !there.contains(id) {
                life.turn(PeriodKind::Removed, life.last().shape, self.now);
            }
        }
    }

    /// What is served, read from the store as a driver reads it.
    fn serve(&mut self) {
        for nth in 0..self.dags.len() {
            let dag = self.store.dag(&self.dags[nth].key).unwrap().unwrap();
            let mut def = dag.def.clone();
            if self.fault == FireFault::CapIgnored {
                def.max_active_runs = 1_000;
            }
            let tasks: Vec<PlannedTask> = dag.tasks.iter().map(planned).collect();
            let served = Served::new(dag.id, &def, &tasks, &[], &dag.schedules).unwrap();
            let mut schedules = Vec::new();
            for stored in self.store.schedules(dag.id).unwrap() {
                let key = format!("{}.{}", def.key, stored.def.name);
                let (id, marks) = (stored.id, stored.watermark);
                let read = Scheduled::new(
                    id,
                    dag.id,
                    &key,
                    stored.def,
                    stored.bindings,
                    marks,
                    &stored.periods,
                );
                let read = read.unwrap().with_skips(stored.ahead, stored.last_skip);
                let mut read = read.changed_at(stored.changed_at);
                if self.fault == FireFault::LinkMakesRun {
                    read.bindings.iter_mut().for_each(|bound| bound.variant = id.to_string());
                }
                schedules.push(match self.judged.get(&id) {
                    Some(before) if self.fault != FireFault::ForgetsWaiting => {
                        read.judged_as(before)
                    }
                    _ => read,
                });
            }
            self.world.serve(served, schedules);
        }
    }

    /// Reads the world anew, as after a refused commit.
    fn reload(&mut self) {
        let next = self.store.next_ids().unwrap();
        let scope = self.lease.scope_id;
        self.world = World::new((next.run, next.task_run), 64, self.lease.node_id, scope);
        self.serve();
        for (key, run) in self.known.clone() {
            self.world.know_timed(key, run);
        }
        for run in self.store.open_runs(scope).unwrap() {
            let stored = self.store.stored_run(run).unwrap().unwrap();
            let plan = Arc::clone(&self.plans[&run]);
            let (row, cancel) = (stored.row, stored.cancel_requested);
            self.world.load(row, cancel, plan, stored.task_runs, stored.leases).unwrap();
        }
    }

    /// Another process comes up: what was in memory is gone.
    fn restart(&mut self) -> Told {
        let node_id = self.lease.node_id;
        let own = self.store.join(&node()).unwrap();
        let held = self.store.scope_named(SCOPE).unwrap();
        self.lease = self.store.lead(SCOPE, own.node_id, held, self.now).unwrap();
        self.judged.clear();
        self.ends.clear();
        self.truth.looked = Instant(i64::MIN);
        self.register();
        self.reload();
        self.happen(&Event::NodeLost { node: node_id })?;
        self.look()
    }

    fn something(&mut self) -> Told {
        match self.rng.below(20) {
            0..=5 => {
                let hours = 1 + self.rng.below(8) as i64;
                self.wait(hours * HOUR)
            }
            // It is late, but was there: within a minute nothing is missed.
            6 | 7 => {
                let late = self.rng.below(50) as i64 * 1_000;
                self.late(late)
            }
            8 => {
                let late = self.rng.below(30) as i64 * HOUR;
                self.late(late)
            }
            9 | 10 => {
                let outage = self.rng.below(50) as i64 * HOUR / 2;
                self.now = self.now.plus_millis(outage + 1);
                self.restart()
            }
            11 => {
                self.went_back = true;
                self.now = self.now.plus_millis(-(self.rng.below(6) as i64) * HOUR);
                self.restart()
            }
            12 => {
                self.reload();
                self.look()
            }
            13 | 14 => self.pause(),
            15 => self.edit(true),
            // During an outage.
            16 => {
                self.now = self.now.plus_millis(self.rng.below(10) as i64 * HOUR);
                self.edit(false)?;
                self.now = self.now.plus_millis(self.rng.below(10) as i64 * HOUR);
                self.restart()
            }
            17 => self.add_or_remove(),
            18 => self.others(),
            _ => {
                let nth = self.rng.below(self.dags.len() as u64) as usize;
                self.dags[nth].max_active_runs = 1 + self.rng.below(4) as u32;
                self.register();
                self.serve();
                self.look()
            }
        }
    }

    fn edit(&mut self, tell: bool) -> Told {
        if let Some((dag, at)) = self.any_schedule() {
            let (shape, missed) = (Shape::new(&mut self.rng), *self.rng.pick(Missed::ALL));
            let def = &mut self.dags[dag].schedules[at];
            def.rule.expression = shape.text();
            def.missed = missed;
            self.register();
        }
        if !tell {
            return Ok(());
        }
        self.serve();
        self.look()
    }

    fn add_or_remove(&mut self) -> Told {
        match self.any_schedule() {
            Some((dag, at)) if self.rng.chance(500) => {
                let gone = self.dags[dag].schedules.remove(at);
                self.register();
                let seen = self.rng.chance(500);
                if seen {
                    self.serve();
                    self.look()?;
                }
                let hours = self.rng.below(5) as i64;
                self.now = self.now.plus_millis(hours * HOUR);
                if self.rng.chance(700) {
                    self.dags[dag].schedules.push(gone);
                    self.register();
                }
            }
            _ => {
                let dag = self.rng.below(self.dags.len() as u64) as usize;
                if self.dags[dag].schedules.len() < 4 {
                    let mut def = self.new_schedule(dag);
                    def.name = format!("n{}", self.tale.decisions);
                    self.dags[dag].schedules.push(def);
                    self.register();
                }
            }
        }
        self.serve();
        self.look()
    }

    fn any_schedule(&mut self) -> Option<(usize, usize)> {
        let all = self.dags.iter().enumerate();
        let all = all.flat_map(|(nth, dag)| (0..dag.schedules.len()).map(move |at| (nth, at)));
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| *self.rng.pick(&all))
    }

    fn pause(&mut self) -> Told {
        let ids: Vec<ScheduleId> = self.truth.lives.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = *self.rng.pick(&ids);
        let kind = self.truth.lives[&id].last().kind;
        let paused = kind != PeriodKind::Paused;
        let missed = self.rng.chance(500).then(|| *self.rng.pick(Missed::ALL));
        // What has fallen due before is taken first, as a driver does.
        self.look()?;
        if kind != PeriodKind::Removed {
            let now = self.now;
            let life = self.truth.lives.get_mut(&id).unwrap();
            if !paused {
                // By a clock that was set back, part of the pause is still to come.
                let end = life.last().from;
                let to_come: Vec<Instant> =
                    life.fires(now, end).into_iter().map(|(at, _)| at).collect();
                life.kept.extend(to_come);
                let of_pause = life.of_pause(now);
                match missed {
                    Some(Missed::All) => life.kept.extend(of_pause),
                    Some(Missed::Last) => life.kept.extend(of_pause.last()),
                    _ => {}
                }
            }
            let kind = if paused { PeriodKind::Paused } else { PeriodKind::Active };
            life.turn(kind, life.last().shape, now);
        }
        if self.fault != FireFault::PauseIgnored {
            self.happen(&Event::Pause { schedule: id, paused, missed })?;
        }
        self.look()
    }

    /// Another process makes the timed run of a fire that is due, or any run.
    fn others(&mut self) -> Told {
        let passes = self.rng.below(5) as i64 * HOUR;
        self.now = self.now.plus_millis(passes);
        let due = self.world.schedules().find_map(|schedule| {
            let fire = schedule.next_fire().filter(|fire| fire.at <= self.now)?;
            let bound = schedule.bindings.first()?;
            Some((fire.at, bound.target))
        });
        let nth = self.rng.below(self.dags.len() as u64) as usize;
        let dag = match due {
            Some((_, target)) => {
                let nth = self.ids.iter().position(|id| *id == target.dag).unwrap();
                self.store.dag(&self.dags[nth].key).unwrap().unwrap()
            }
            None => self.store.dag(&self.dags[nth].key).unwrap().unwrap(),
        };
        let task = due.and_then(|(_, target)| target.task);
        let tasks = dag.tasks.iter().map(planned);
        let tasks = tasks.filter(|each| task.is_none_or(|task| task == each.task_id)).collect();
        let plan = Arc::new(Plan::build(dag.id, &dag.def.key, tasks).unwrap());
        let nominal_at = due.map_or(self.now, |(at, _)| at);
        let new = NewRun {
            plan,
            nominal_at,
            biz_date: Date(19_000),
            interval: (nominal_at, nominal_at),
            timezone: "UTC".into(),
            trigger: Trigger::Manual,
            task,
            timed: due.is_some(),
            variant: String::new(),
            interactive: false,
            requested_by: None,
            params: Default::default(),
            schedules: vec![],
            only: None,
            force: false,
        };
        let lease = self.store.join(&node()).unwrap();
        let next = self.store.next_ids().unwrap();
        let mut world = World::new((next.run, next.task_run), 0, lease.node_id, lease.scope_id);
        let decision = decide(&world, &Event::CreateRun(new), self.now).unwrap();
        apply(&mut world, &decision).unwrap();
        let batch = batch_of(&world, &decision, lease, self.now);
        match self.store.commit(&batch) {
            Ok(()) | Err(CommitError::RunExists { .. }) => {}
            Err(other) => return Err(format!("others: {other}")),
        }
        self.look()
    }

    /// Time passes while the process sleeps.
    fn late(&mut self, millis: i64) -> Told {
        self.now = self.now.plus_millis(millis);
        self.look()
    }

    /// Time passes while the process looks whenever something is due.
    fn wait(&mut self, millis: i64) -> Told {
        let end = self.now.plus_millis(millis);
        loop {
            let ended = self.ends.keys().next().map(|(at, _, _)| *at);
            let wake = self.world.next_wake();
            let Some(next) = ended.into_iter().chain(wake).min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.look()?;
        }
        self.now = self.now.max(end);
        self.look()
    }

    /// A turn of the driver: reports, then fires, timers, and whatever may start.
    fn look(&mut self) -> Told {
        while let Some(first) = self.ends.first_entry().filter(|end| end.key().0 <= self.now) {
            let report = first.remove();
            self.happen(&Event::AttemptEnded(report))?;
        }
        while let Some(schedule) = self.world.next_schedule_due(self.told_now()) {
            self.happen(&Event::ScheduleDue(schedule))?;
        }
        self.happen(&Event::Tick)?;
        self.happen(&Event::Dispatch)?;
        self.truth.looked = self.truth.looked.max(self.now);
        Ok(())
    }

    /// The time as the engine hears it.
    fn told_now(&self) -> Instant {
        let ahead = if self.fault == FireFault::LooksAhead { 20 * MINUTE } else { 0 };
        self.now.plus_millis(ahead)
    }

    /// Decides, commits and applies. Refused, it is left to who asks again.
    fn happen(&mut self, event: &Event) -> Told {
        self.tale.decisions += 1;
        if self.tale.decisions > LONGEST {
            return Err("ends: it does not".into());
        }
        let now = if matches!(event, Event::ScheduleDue(_)) { self.told_now() } else { self.now };
        let Ok(mut decision) = decide(&self.world, event, now) else { return Ok(()) };
        super::fires_planted::plant(self, &mut decision);
        let wrong = |who: &str, what: String| format!("{who}: {what}\n  {event:?}");
        apply(&mut self.world, &decision).map_err(|e| wrong("apply", e.to_string()))?;
        let batch = batch_of(&self.world, &decision, self.lease, self.now);
        if !batch.is_empty()
            && let Err(refused) = self.store.commit(&batch)
        {
            self.tale.refused += 1;
            match refused {
                CommitError::IdsMoved(_) => {}
                CommitError::RunExists { run, key } => self.known.push((*key, run)),
                other => return Err(wrong("commit", other.to_string())),
            }
            self.reload();
            return Ok(());
        }
        self.known.clear();
        for to in &decision.schedules {
            let schedule = self.world.schedule(to.schedule).unwrap().clone();
            self.judged.insert(to.schedule, schedule);
        }
        self.note(&decision);
        let step = Step {
            now: self.now,
            event,
            decision: &decision,
            world: &self.world,
            truth: &self.truth,
        };
        for checker in &mut self.checkers {
            checker.step(&step).map_err(|e| wrong(checker.name(), e))?;
        }
        self.forget_ended();
        Ok(())
    }

    fn note(&mut self, decision: &Decision) {
        for create in &decision.creates {
            self.plans.insert(create.row.id, Arc::clone(&create.plan.0));
            self.tale.runs += 1;
        }
        for (id, life) in &mut self.truth.lives {
            life.note(*id, decision);
        }
        for to in &decision.schedules {
            self.tale.skips += to.skips.len() as u64;
            self.tale.links += to.links.len() as u64;
            let mut at: Vec<Instant> = Vec::new();
            for run in &to.links {
                at.push(self.store.stored_run(*run).unwrap().unwrap().row.nominal_at);
            }
            at.dedup();
            let life = self.truth.lives.get_mut(&to.schedule).unwrap();
            let fresh = at.into_iter().filter(|at| !life.fired.contains(at)).collect::<Vec<_>>();
            life.fired.extend(fresh);
        }
        for start in &decision.starts {
            let (at, attempt) = (start.at, &start.attempt);
            let failed = self.rng.chance(200);
            let report = Report {
                at,
                attempt_no: attempt.attempt_no,
                token: attempt.token,
                outcome: if failed { Outcome::Failed } else { Outcome::Success },
                result: None,
                result_uri: None,
                record: AttemptRecord::default(),
                released: true,
                texts: None,
            };
            let takes = match self.rng.below(10) {
                0 => self.rng.below(9) as i64 * HOUR,
                1..=4 => self.rng.below(90) as i64 * MINUTE,
                _ => self.rng.below(50) as i64 * 1_000,
            };
            let ends = self.now.plus_millis(takes + 1);
            self.ends.insert((ends, at.run, at.index), report);
        }
    }

    /// As a driver does: what has ended is in the store.
    fn forget_ended(&mut self) {
        let ended = self.world.runs().filter(|run| run.row.finished_at.is_some());
        for run in ended.map(|run| run.row.id).collect::<Vec<_>>() {
            self.world.forget(run);
        }
    }
}

fn node() -> NodeRow {
    NodeRow {
        id: NodeId(0),
        host: "here".into(),
        pid: 1,
        role: "sim".into(),
        version: "0".into(),
        started_at: START,
        heartbeat_at: START,
        lease_until: START,
        stopped_at: None,
    }
}

fn planned(task: &mainspring::store::RegisteredTask) -> PlannedTask {
    PlannedTask {
        task_id: task.task_id,
        version_id: task.version_id,
        def: Arc::clone(&task.def),
        enabled: task.enabled,
    }
}

fn shape_of(text: &str) -> Shape {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.parse::<i64>().unwrap();
    match words[..] {
        [each, "*", "*", "*", "*"] if each.starts_with("*/") => Shape::Each(number(&each[2..])),
        [minute, "*", "*", "*", "*"] => Shape::Hourly(number(minute)),
        [minute, hour, "*", "*", "*"] => Shape::Daily(number(hour), number(minute)),
        [minute, hour, ..] => Shape::Weekdays(number(hour), number(minute)),
        _ => panic!("no shape {text}"),
    }
}
