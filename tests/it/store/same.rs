//! Random work done by two stores leaves both with the same answers.

mod filling;
mod questions;
mod words;

use std::fmt::Debug;

use mainspring::engine::RunMove;
use mainspring::model::{
    BackfillRow, Binding, Claim, Date, EdgeKind, Instant, Outcome, Progress, ReleaseAsk, RunState,
    ScheduleDef, ScheduleId, Share, Skip, SkipReason, StopReason, TaskRunId, TaskRunRow,
};
use mainspring::store::{
    AttemptFilter, Batch, CommitError, CreatedRun, MemoryStore, NewSkip, NextIds, Pause, RunFilter,
    Store, StoreError, Watermark,
};
use proptest::prelude::*;

use self::filling::{Fill, fill};
use self::words::{Word, word};
use super::support::{Desk, at, dag, edge, ended, flights, node, schedule, task};

/// One step of work; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Register(u8),
    Join,
    Beat(u8),
    Leave(u8),
    Pool(u8),
    Create { timed: bool, nominal: u8 },
    Items { run: u8, count: u8, late: bool },
    Work(Vec<(u8, u8, u8)>),
    Stale(u8),
    MoveRun(u8, bool),
    TakeOver(u8, u8),
    RemoveDags(u8),
    Advance { schedule: u8, from: Option<u8>, to: u8 },
    Skip { schedule: u8, from: u8, count: u8, reason: u8, joins: bool },
    Link(u8, u8),
    Pause { schedule: u8, paused: bool, when: u8 },
    Lead { who: u8, name: bool, held: bool },
    Release { task: u8, version: u8, what: u8 },
    Code(u8),
    Fill(Fill),
    Say(Word),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => any::<u8>().prop_map(Step::Register),
        1 => Just(Step::Join),
        1 => any::<u8>().prop_map(Step::Beat),
        1 => any::<u8>().prop_map(Step::Leave),
        1 => any::<u8>().prop_map(Step::Pool),
        3 => (any::<bool>(), 0..4u8).prop_map(|(timed, nominal)| Step::Create { timed, nominal }),
        2 => (any::<u8>(), 0..4u8, any::<bool>())
            .prop_map(|(run, count, late)| Step::Items { run, count, late }),
        12 => prop::collection::vec((any::<u8>(), 0..3u8, any::<u8>()), 1..6).prop_map(Step::Work),
        1 => any::<u8>().prop_map(Step::Stale),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(run, cancel)| Step::MoveRun(run, cancel)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(run, to)| Step::TakeOver(run, to)),
        2 => schedules(),
        3 => (any::<u8>(), 0..6u8, any::<u8>())
            .prop_map(|(task, version, what)| Step::Release { task, version, what }),
        1 => any::<u8>().prop_map(Step::Code),
        4 => fill().prop_map(Step::Fill),
        4 => word().prop_map(Step::Say),
        1 => (any::<u8>(), any::<bool>(), any::<bool>())
            .prop_map(|(who, name, held)| Step::Lead { who, name, held }),
    ]
}

fn schedules() -> impl Strategy<Value = Step> {
    let small = || 0..40u8;
    prop_oneof![
        1 => any::<u8>().prop_map(Step::RemoveDags),
        3 => (any::<u8>(), prop::option::weighted(0.2, small()), small())
            .prop_map(|(schedule, from, to)| Step::Advance { schedule, from, to }),
        4 => (any::<u8>(), small(), 1..4u8, any::<u8>(), any::<bool>()).prop_map(
            |(schedule, from, count, reason, joins)| {
                Step::Skip { schedule, from, count, reason, joins }
            }
        ),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(run, of)| Step::Link(run, of)),
        3 => (any::<u8>(), any::<bool>(), small())
            .prop_map(|(schedule, paused, when)| Step::Pause { schedule, paused, when }),
    ]
}

fn registration(choice: u8) -> Vec<mainspring::model::DagDef> {
    let mut def = flights();
    match choice % 8 {
        0 => {}
        1 => def.tasks[1].handler = Some(format!("jobs:{choice}")),
        2 => drop(def.tasks.pop()),
        3 => def.schedules = vec![schedule("default", "0 2 * * *")],
        4 => def.tasks[0].authored_version = Some(u32::from(choice % 3) + 1),
        5 => def.schedules = many_schedules(choice / 8),
        6 => {
            def.tasks[0].produces = vec!["raw".into()];
            def.tasks[2].dependencies.push(edge("@raw", EdgeKind::Success, 0));
        }
        _ => def.title = Some("Flights".into()),
    }
    vec![def, dag("late", vec![task("only", &["flights.fetch"])])]
}

/// Schedules that are edited, renamed, paused and bound in many ways.
fn many_schedules(choice: u8) -> Vec<ScheduleDef> {
    let hour = choice % 3;
    let mut first = schedule("default", &format!("0 {hour} * * *"));
    first.paused = choice.is_multiple_of(5);
    let mut second = schedule("second", "@hourly");
    if choice.is_multiple_of(2) {
        second.name = "renamed".into();
        second.renamed_from = Some("second".into());
    }
    let task = ["fetch", "load", "nobody"][usize::from(choice % 3)];
    let params = [("hour".to_owned(), hour.into())].into();
    second.bindings.push(Binding { task: Some(task.into()), params });
    match choice % 4 {
        0 => vec![first],
        1 => vec![second, first],
        _ => vec![first, second],
    }
}

/// The same step in both stores, as a batch that is made from the answers of the first.
struct Stores {
    memory: MemoryStore,
    name: &'static str,
    other: Box<dyn Store>,
    leases: Vec<mainspring::model::ScopeLease>,
    runs: Vec<CreatedRun>,
    backfills: Vec<BackfillRow>,
}

impl Stores {
    fn beside(name: &'static str, other: Box<dyn Store>) -> Stores {
        let (leases, runs, backfills) = (Vec::new(), Vec::new(), Vec::new());
        Stores { memory: MemoryStore::new(), name, other, leases, runs, backfills }
    }

    fn both<T: Debug, E: Debug>(
        &mut self,
        work: impl Fn(&mut dyn Store) -> Result<T, E>,
    ) -> Result<T, E> {
        let first = work(&mut self.memory);
        let other = work(self.other.as_mut());
        assert_eq!(format!("{first:?}"), format!("{other:?}"), "memory and {}", self.name);
        first
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        self.both(|store| store.commit(batch))
    }

    fn batch(&self) -> Batch {
        Batch::new(self.leases[0], at(1))
    }

    fn take(&mut self, step: Step, now: i64) {
        match step {
            Step::Register(choice) => {
                let defs = registration(choice);
                let _ = self.both(|store| store.register(&defs, at(now)));
            }
            Step::Join => {
                let lease = self.both(|store| store.join(&node(now))).unwrap();
                self.leases.push(lease);
            }
            Step::Release { task, version, what } => {
                let task = ["flights.clean", "flights.fetch", "late.only"][usize::from(task % 3)];
                let version = u32::from(version);
                let share = match what % 4 {
                    0 => Some(Share::Percent(u32::from(what))),
                    1 => Date::parse("2024-05-01").ok().map(Share::FromBizDate),
                    _ => None,
                };
                let ask = match what % 8 {
                    6 => ReleaseAsk::Rollback { version: None },
                    7 => ReleaseAsk::Rollback { version: Some(version) },
                    _ => ReleaseAsk::Promote { version, share },
                };
                let by = what.is_multiple_of(3).then_some("somebody");
                let _ = self.both(|store| store.release(task, ask, by, at(now)));
            }
            Step::Code(content) => {
                let content = content.to_string();
                self.both(|store| store.keep_code(&[("flights", &content)])).unwrap();
            }
            Step::Beat(who) => {
                let lease = self.leases[usize::from(who) % self.leases.len()];
                let _ = self.both(|store| store.heartbeat(lease, at(now), at(now + 15)));
            }
            Step::Leave(who) => {
                let lease = self.leases[usize::from(who) % self.leases.len()];
                self.both(|store| store.leave(lease, at(now))).unwrap();
            }
            Step::Pool(slots) => {
                self.both(|store| store.set_pool("db", u32::from(slots % 4), at(now))).unwrap();
                self.both(|store| store.set_limit("api", u32::from(slots % 3), at(now))).unwrap();
            }
            Step::Create { timed, nominal } => self.create(timed, i64::from(nominal)),
            Step::Items { run, count, late } => self.items(run, count, late, now),
            Step::Work(items) => self.work(&items, now),
            Step::Stale(which) => {
                let mut batch = self.batch();
                batch.stale.push(TaskRunId(i64::from(which % 12)));
                let _ = self.commit(&batch);
            }
            Step::MoveRun(run, cancel_requested) => self.move_run(run, cancel_requested, now),
            Step::TakeOver(run, to) => {
                let Some(run) = pick(&self.runs, run).map(|run| run.row.id) else { return };
                let from = self.leases[0].scope_id;
                let lease = self.leases[usize::from(to) % self.leases.len()];
                let _ = self.both(|store| store.take_over(run, from, lease, at(now)));
            }
            Step::RemoveDags(choice) => {
                let keys = ["flights", "late", "nobody"][usize::from(choice % 3)..].iter();
                let keys: Vec<String> = keys.map(|key| (*key).to_owned()).collect();
                self.both(|store| store.remove_dags(&keys, at(now))).unwrap();
            }
            Step::Lead { who, name, held } => {
                let node = self.leases[usize::from(who) % self.leases.len()].node_id;
                let name = if name { "fires" } else { "other" };
                let stands = self.both(|store| store.scope_named(name)).unwrap();
                let held = stands.filter(|_| held);
                if let Ok(lease) = self.both(|store| store.lead(name, node, held, at(now))) {
                    self.leases.push(lease);
                }
            }
            Step::Fill(step) => self.fill(step, now),
            Step::Say(word) => self.say(word, now),
            step => self.fire(step),
        }
    }

    /// What a batch does to schedules.
    fn fire(&mut self, step: Step) {
        let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
        let stored = self.both(|store| store.schedules(dag.id)).unwrap();
        // One in three is of a schedule that is not told any more, or never was there.
        let known = |which: u8| match which % 3 {
            0 => ScheduleId(i64::from(which % 5) + 1),
            _ => pick(&stored, which / 3).map_or(ScheduleId(1), |schedule| schedule.id),
        };
        let seconds = |number: u8| at(i64::from(number));
        let mut batch = self.batch();
        match step {
            Step::Advance { schedule, from, to } => {
                let schedule = known(schedule);
                let found = stored.iter().find(|found| found.id == schedule);
                let stands = found.map_or(Instant(0), |found| found.watermark);
                // One in eight was decided of what the schedule was before.
                let changed_at = found.map_or(Instant(0), |found| found.changed_at);
                let changed_at = changed_at.plus_micros(i64::from(to % 8 == 0));
                let from = from.map_or(stands, seconds);
                batch.watermarks.push(Watermark { schedule, from, to: seconds(to), changed_at });
            }
            Step::Skip { schedule, from, count, reason, joins } => {
                let skip = Skip {
                    schedule: known(schedule),
                    from: seconds(from),
                    to: seconds(from + count - 1),
                    count: i64::from(count),
                    reason: SkipReason::ALL[usize::from(reason % 2)],
                };
                batch.skips.push(NewSkip { skip, joins });
            }
            Step::Link(run, schedule) => {
                let Some(run) = pick(&self.runs, run).map(|run| run.row.id) else { return };
                batch.links.push((run, known(schedule)));
            }
            Step::Pause { schedule, paused, when } => {
                let (schedule, at) = (known(schedule), seconds(when));
                batch.pauses.push(Pause { schedule, paused, at });
            }
            _ => return,
        }
        let _ = self.commit(&batch);
    }

    fn create(&mut self, timed: bool, nominal: i64) {
        let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
        let ids = self.both(|store| store.next_ids()).unwrap();
        let mut run = super::support::new_run(&dag, self.leases[0], ids, nominal);
        run.row.timed = timed;
        if nominal % 2 == 1 {
            run.row.task_id = dag.tasks.first().map(|task| task.task_id);
            run.row.variant = format!("{}", nominal / 2);
        }
        run.schedules = dag.schedules.iter().map(|(id, _)| *id).collect();
        run.row.schedule_id = run.schedules.first().copied();
        let mut batch = self.batch();
        batch.created.push(run.clone());
        if self.commit(&batch).is_ok() {
            self.runs.push(run);
        }
    }

    /// Items of the second task of a run, after those it has; `late` with ids that others took.
    fn items(&mut self, which: u8, count: u8, late: bool, now: i64) {
        let ids = self.both(|store| store.next_ids()).unwrap();
        let places = self.runs.len().max(1);
        let mut batch = self.batch();
        let Some(run) = self.runs.get_mut(usize::from(which) % places) else { return };
        let Some(of) = run.task_runs.get(1).cloned() else { return };
        let known = run.task_runs.iter().filter(|row| row.progress.item.is_some()).count();
        let row = |nth: u8| TaskRunRow {
            id: TaskRunId(ids.task_run + i64::from(nth)),
            map_index: 100 + known as i32 + i32::from(nth),
            created_at: at(now),
            progress: Progress { item: Some(nth.to_string().into()), ..Progress::default() },
            ..of.clone()
        };
        batch.items = (0..count).map(row).collect();
        let task_run = ids.task_run - i64::from(late);
        batch.expected = (count > 0).then_some(NextIds { task_run, ..ids });
        let rows = batch.items.clone();
        let id = run.row.id;
        if self.commit(&batch).is_ok()
            && let Some(run) = self.runs.iter_mut().find(|run| run.row.id == id)
        {
            run.task_runs.extend(rows);
        }
    }

    /// Starts, ends, stops and releases, several in one batch.
    fn work(&mut self, items: &[(u8, u8, u8)], now: i64) {
        if self.runs.is_empty() {
            return;
        }
        let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
        let lease = self.leases[0];
        let mut runs = self.runs.clone();
        let mut batch = self.batch();
        for (which, index, what) in items {
            let at_run = usize::from(*which) % runs.len();
            let index = usize::from(*index) % runs[at_run].task_runs.len();
            let desk = Desk { store: &mut self.memory, lease, dag: dag.clone() };
            let row = runs[at_run].task_runs[index].clone();
            // A batch has one entry a task run, and ends no attempt twice.
            let has_end = batch.ends.iter().any(|other| other.end.task_run_id == row.id);
            if has_end || batch.progressed.iter().any(|other| other.id == row.id) {
                continue;
            }
            match what % 5 {
                0 | 1 => {
                    desk.start(&mut batch, &mut runs[at_run], index, now);
                    let start = batch.starts.last_mut().unwrap();
                    start.pool = (what % 2 == 0).then(|| "db".to_owned());
                    if what % 3 == 0 {
                        let limit = if what % 2 == 0 { "api" } else { "task:1" };
                        let most = (what % 2 != 0).then_some(1);
                        start.limits = vec![Claim { limit: limit.into(), slots: 1, most }];
                    }
                }
                2 => {
                    desk.end(&mut batch, &mut runs[at_run], index, now);
                    batch.ends.last_mut().unwrap().released = what % 3 != 0;
                    let ended = &mut batch.progressed.last_mut().unwrap().progress;
                    ended.fingerprint = (what % 4 != 0).then(|| (what % 7).to_string());
                    ended.unchanged = *what > 200;
                    runs[at_run].task_runs[index].progress = ended.clone();
                }
                3 => {
                    let no = row.progress.attempt_no;
                    let end = ended(row.id, no, row.progress.token, Outcome::Failed, now);
                    batch.ends.push(end);
                }
                _ if what % 2 == 0 => batch.stops.push((row.id, StopReason::Timeout)),
                _ => batch.releases.push(row.id),
            }
        }
        if self.commit(&batch).is_ok() {
            self.runs = runs;
        }
    }

    fn move_run(&mut self, which: u8, cancel_requested: bool, now: i64) {
        let Some(run) = pick(&self.runs, which).map(|run| run.row.id) else { return };
        let from = if which.is_multiple_of(3) { RunState::Failed } else { RunState::Running };
        let to = if which.is_multiple_of(2) { RunState::Failed } else { RunState::Running };
        let finished_at = (to == RunState::Failed).then(|| at(now));
        let mut batch = self.batch();
        batch.run_moves.push(RunMove { run, from, to, finished_at, cancel_requested });
        let _ = self.commit(&batch);
    }

    fn compare(&mut self) {
        self.both(|store| store.dag_keys()).unwrap();
        self.both(|store| store.dag("flights")).unwrap();
        self.both(|store| store.pools()).unwrap();
        self.both(|store| store.limits()).unwrap();
        self.both(|store| store.next_ids()).unwrap();
        for key in ["flights", "late"] {
            let dag = self.both(|store| store.dag(key)).unwrap().unwrap();
            self.both(|store| store.schedules(dag.id)).unwrap();
            self.both(|store| store.releases(dag.id)).unwrap();
            for task in &dag.tasks {
                let name = format!("{key}.{}", task.def.name);
                self.both(|store| store.task_versions(&name)).unwrap();
                self.both(|store| store.code(&[task.version_id])).unwrap();
            }
            for limit in [2, 100] {
                self.both(|store| store.skips(dag.id, limit)).unwrap();
            }
        }
        for name in ["fires", "other"] {
            self.both(|store| store.scope_named(name)).unwrap();
        }
        let filter = RunFilter::default();
        for run in self.both(|store| store.runs(&filter)).unwrap() {
            let id = run.row.id;
            let stored = self.both(|store| store.stored_run(id)).unwrap().unwrap();
            self.both(|store| store.task_runs(id)).unwrap();
            self.both(|store| store.attempts(&AttemptFilter::Run(id))).unwrap();
            self.both(|store| store.journal(id)).unwrap();
            let versions: Vec<_> = stored.task_runs.iter().map(|row| row.task_version_id).collect();
            self.both(|store| store.versions(&versions)).unwrap();
            self.both(|store| store.holder(stored.row.scope_id)).unwrap();
        }
        for lease in self.leases.clone() {
            self.both(|store| store.node(lease.node_id)).unwrap();
            self.both(|store| store.open_runs(lease.scope_id)).unwrap();
        }
        self.both(|store| {
            let mut found = store.verify()?;
            found.iter_mut().for_each(|violation| violation.rows.sort());
            Ok::<_, StoreError>(found)
        })
        .unwrap();
        self.compare_backfills();
        self.compare_questions();
    }
}

fn pick<T>(of: &[T], which: u8) -> Option<&T> {
    of.get(usize::from(which) % of.len().max(1))
}

/// How many stories are told; `PROPTEST_CASES` says otherwise.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

fn config(usual: u32) -> ProptestConfig {
    ProptestConfig { cases: cases(usual), failure_persistence: None, ..Default::default() }
}

fn tell(mut stores: Stores, steps: Vec<Step>) {
    stores.take(Step::Join, 0);
    stores.take(Step::Register(0), 0);
    for (now, step) in (1..).zip(steps) {
        stores.take(step, now);
    }
    stores.compare();
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn a_file_gives_the_same_answers_as_memory(steps in prop::collection::vec(step(), 1..40)) {
        let file = super::support::file::open(":memory:");
        tell(Stores::beside("SQLite", Box::new(file)), steps);
    }
}

#[cfg(feature = "postgres")]
proptest! {
    // Each in a schema of its own.
    #![proptest_config(config(24))]

    #[test]
    fn a_server_gives_the_same_answers_as_memory(steps in prop::collection::vec(step(), 1..40)) {
        tell(Stores::beside("PostgreSQL", Box::new(crate::postgres::open())), steps);
    }
}
