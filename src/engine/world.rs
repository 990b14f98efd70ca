//! All that a decider knows: its runs, the queues of its pools and what time will bring.
//!
//! Queues, timers and slots in use are derived from the task runs, by `Keys`, and never changed
//! by themselves. What a crash left in the store therefore makes the same world as what was
//! decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::apply::Broken;
use super::blocks::BlockRef;
use super::cell::{CellKey, found};
use super::edges::{Texts, skip_codes};
use super::filling::{Backfilling, Share};
use super::items::Place;
use super::keys::due_at;
use super::queue::{Limit, Pool};
use super::run::{Live, Run, TaskRun};
use super::watched::Cells;
use super::{Plan, Rest, Scheduled, Served, TaskRunRef};
use crate::model::{
    BackfillId, Claim, DagId, EdgeKind, Instant, LeaseRow, NodeId, RunId, RunRow, ScheduleId,
    ScopeId, State, TaskId, TaskRunId, TaskRunRow, TimedKey,
};

/// What a decision is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    pub(super) node: NodeId,
    pub(super) scope: ScopeId,
    pub(super) next_run: i64,
    pub(super) next_task_run: i64,
    pub(super) runs: BTreeMap<RunId, Run>,
    /// Timed runs by their unique key.
    pub(super) timed: BTreeMap<TimedKey, RunId>,
    /// How many runs of each dag have something that runs, may start, or is tried again.
    pub(super) active: BTreeMap<DagId, u32>,
    /// Dags whose schedules fire here.
    pub(super) served: BTreeMap<DagId, Served>,
    pub(super) schedules: BTreeMap<ScheduleId, Scheduled>,
    pub(super) schedules_of: BTreeSet<(DagId, ScheduleId)>,
    /// When each of them has something to do next.
    pub(super) dues: BTreeSet<(Instant, ScheduleId)>,
    /// Those whose next fire waits for a run of their dag to end.
    pub(super) waiting: BTreeSet<(DagId, ScheduleId)>,
    pub(super) pools: BTreeMap<Option<String>, Pool>,
    /// Limits by their names.
    pub(super) limits: BTreeMap<String, Limit>,
    pub(super) timers: BTreeSet<(Instant, TaskRunRef)>,
    /// Mapped tasks for which something has to be read.
    pub(super) gathering: BTreeSet<TaskRunRef>,
    /// Task runs with a lease.
    pub(super) leased: BTreeSet<TaskRunRef>,
    /// What edges to other runs look at.
    pub(super) cells: Cells,
    /// Served dags without a schedule, by the upstream whose end makes their runs.
    pub(super) followers: BTreeSet<(Arc<str>, DagId)>,
    /// Output in files of task runs that are about to be loaded.
    pub(super) texts: BTreeMap<TaskRunId, Texts>,
    /// READY task runs that need no slot, so that they stand in no queue.
    pub(super) light: BTreeSet<TaskRunRef>,
    /// An orderly shutdown is under way: nothing starts any more.
    pub(super) interrupting: bool,
    /// Backfills that are not final, and those that were taken in to be tried again.
    pub(super) fillings: BTreeMap<BackfillId, Backfilling>,
    /// Those that need something.
    pub(super) due_fills: BTreeSet<BackfillId>,
    /// What backfills may hold of pools, by the name of the limit that stands for it.
    pub(super) shares: BTreeMap<String, Share>,
    /// The runs of each dag by their instants.
    pub(super) instants: BTreeSet<(DagId, Instant, RunId)>,
    /// Cells that a commit found to be open in runs that are not here.
    pub(super) elsewhere: BTreeSet<(TaskId, Instant)>,
    /// Cells that runs of backfills compute that are not here, as a commit found.
    pub(super) filled: BTreeMap<(TaskId, Instant), (RunId, BackfillId)>,
    /// Who may start for the blocks that are run by one.
    pub(super) released: BTreeMap<BlockRef, TaskRunRef>,
}

impl World {
    /// An empty world. `next`: the ids that the next run and the next task run will have.
    pub fn new(next: (i64, i64), default_slots: u32, node: NodeId, scope: ScopeId) -> World {
        let default = Pool::of(default_slots);
        World {
            node,
            scope,
            next_run: next.0,
            next_task_run: next.1,
            runs: BTreeMap::new(),
            timed: BTreeMap::new(),
            active: BTreeMap::new(),
            served: BTreeMap::new(),
            schedules: BTreeMap::new(),
            schedules_of: BTreeSet::new(),
            dues: BTreeSet::new(),
            waiting: BTreeSet::new(),
            pools: BTreeMap::from([(None, default)]),
            limits: BTreeMap::new(),
            timers: BTreeSet::new(),
            gathering: BTreeSet::new(),
            leased: BTreeSet::new(),
            cells: Cells::default(),
            followers: BTreeSet::new(),
            texts: BTreeMap::new(),
            light: BTreeSet::new(),
            interrupting: false,
            fillings: BTreeMap::new(),
            due_fills: BTreeSet::new(),
            shares: BTreeMap::new(),
            instants: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            filled: BTreeMap::new(),
            released: BTreeMap::new(),
        }
    }

    /// Somebody else made runs meanwhile: these are the next ids now.
    pub fn set_next_ids(&mut self, run: i64, task_run: i64) {
        self.next_run = run;
        self.next_task_run = task_run;
    }

    /// The ids that the next run and the next task run will have.
    pub fn next_ids(&self) -> (i64, i64) {
        (self.next_run, self.next_task_run)
    }

    /// Takes in a run from its rows: after a crash, or to rerun what had ended. A run that is
    /// here already is replaced.
    ///
    /// # Errors
    /// `Broken::Rows` where the rows are not those of a run of this plan.
    pub fn load(
        &mut self,
        row: RunRow,
        cancel_requested: bool,
        plan: Arc<Plan>,
        mut task_runs: Vec<TaskRunRow>,
        leases: Vec<LeaseRow>,
    ) -> Result<(), Broken> {
        let wrong = Broken::Rows(row.id);
        task_runs.sort_by_key(|task_run| task_run.id);
        let whole = plan.tasks.len() == plan.graph.len()
            && plan.tasks.len() == row.task_count as usize
            && task_runs.len() >= plan.tasks.len()
            && task_runs.iter().zip(&plan.tasks).zip(0u32..).all(|((task_run, task), index)| {
                task_run.id == row.first_task_run_id.offset(index)
                    && task_run.task_id == task.task_id
            });
        if !whole {
            return Err(wrong);
        }
        let mut leases: BTreeMap<TaskRunId, LeaseRow> =
            leases.into_iter().map(|lease| (lease.task_run_id, lease)).collect();
        let places: Option<Vec<Place>> = places(&plan, &task_runs);
        let Some(places) = places else { return Err(wrong) };
        let mut loaded = Vec::with_capacity(task_runs.len());
        for ((index, task_run), place) in (0u32..).zip(task_runs).zip(places) {
            let of = if let Place::Item { of, .. } = place { of } else { index };
            let Some(task) = plan.tasks.get(of as usize) else { return Err(wrong) };
            let live = leases.remove(&task_run.id);
            loaded.push(TaskRun {
                id: task_run.id,
                place,
                created_at: task_run.created_at,
                live: live.map(|lease| Live::from_row(lease, &task_run.progress, task)),
                progress: task_run.progress,
                counts: Default::default(),
                votes: Vec::new(),
                patience: None,
                texts: self.texts.remove(&task_run.id).map(Box::new),
            });
        }
        if !leases.is_empty() {
            return Err(wrong);
        }
        self.remove(row.id);
        let run = Run::with(row, cancel_requested, plan, loaded, &self.cells);
        self.insert(run, None);
        Ok(())
    }

    /// What of the output of a task run is in files; said before the run is loaded.
    pub fn know_texts(&mut self, task_run: TaskRunId, texts: Texts) {
        self.texts.insert(task_run, texts);
    }

    /// Cells that are looked at and were not read yet.
    pub fn unread_cells(&self) -> impl Iterator<Item = &CellKey> {
        self.cells.unread()
    }

    /// Runs from which a task was left out because it was disabled, and by which somebody is blocked.
    pub fn blocking_runs(&self, task: TaskId) -> BTreeSet<RunId> {
        let cells = self.cells.all().map(|(_, cell)| cell);
        let of_task =
            cells.filter(|cell| cell.known.as_ref().is_some_and(|k| k.task == Some(task)));
        let blocking = of_task.filter(|cell| {
            let watchers = cell.watchers.iter().filter_map(|(at, _)| self.task_run(*at));
            watchers.into_iter().any(|watcher| watcher.progress.state == State::Blocked)
        });
        let found = blocking.filter_map(|cell| cell.known.as_ref()).flat_map(|k| k.found.values());
        let disabled = |found: &&super::Found| found.code.as_deref() == Some(skip_codes::DISABLED);
        found.filter(disabled).map(|found| found.run).collect()
    }

    /// Whether a dag is served whose runs the end of an upstream makes.
    pub fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// All cells that are looked at.
    pub fn cells(&self) -> impl Iterator<Item = CellKey> {
        self.cells.all().map(|(key, _)| key)
    }

    /// Whether an edge looks for a pattern in the results of a cell, and in what its runs printed.
    pub fn wants_texts(&self, key: &CellKey) -> (bool, bool) {
        let watchers = self.cells.get(key).into_iter().flat_map(|cell| &cell.watchers);
        let edges = watchers.filter_map(|(at, edge)| {
            self.runs.get(&at.run)?.plan.across(at.index).get(*edge as usize)
        });
        edges.filter(|edge| edge.rule.kind == EdgeKind::OutputMatch).fold((false, false), |w, e| {
            let is_result = e.rule.match_on == crate::model::MatchOn::Result;
            (w.0 || is_result, w.1 || !is_result)
        })
    }

    /// Whether an edge looks at what a task run prints, or at its result as a text.
    pub fn is_matched(&self, at: TaskRunRef) -> bool {
        let Some(run) = self.run(at.run) else { return false };
        run.plan.is_matched(at.index)
            || (self.cells_of(run, at.index))
                .any(|(_, edge)| edge.rule.kind == EdgeKind::OutputMatch)
    }

    /// The task runs of other runs that look at a task run.
    pub(super) fn watchers<'w>(
        &'w self,
        run: &Run,
        index: u32,
    ) -> impl Iterator<Item = TaskRunRef> + use<'w> {
        self.cells_of(run, index).map(|(watcher, _)| watcher).collect::<Vec<_>>().into_iter()
    }

    /// The edges of other runs that look at a task run.
    fn cells_of<'w>(
        &'w self,
        run: &Run,
        index: u32,
    ) -> impl Iterator<Item = (TaskRunRef, &'w super::Across)> {
        let (date, at) = (run.row.biz_date, run.row.nominal_at);
        let names = run.plan.names_of(index).to_vec();
        let cells = names.into_iter().flat_map(move |name| self.cells.of(&name, date, at));
        cells.flat_map(|cell| &cell.watchers).filter_map(|(watcher, edge)| {
            let plan = &self.run(watcher.run)?.plan;
            Some((*watcher, plan.across(watcher.index).get(*edge as usize)?))
        })
    }

    /// Lets go of a run that has ended. One whose slots are still held stays, one that time alone
    /// will have something to do with, as it has with what is BLOCKED not for ever, and one that
    /// goes on by itself when something outside of it is repaired: false.
    pub fn forget(&mut self, run: RunId) -> bool {
        let stays = self.runs.get(&run).is_some_and(|run| {
            let waits = |task_run: &TaskRun| task_run.live.is_some() || due_at(task_run).is_some();
            run.task_runs.iter().any(|task_run| waits(task_run) || run.may_go_on(task_run))
                || self.is_missed(run)
        });
        if !stays {
            self.remove(run);
        }
        !stays
    }

    /// An attempt that is live in this process goes on as it did before its rows were read anew.
    pub fn recall(&mut self, at: TaskRunRef, attempt_no: u32, rest: Option<Rest>, polls: u32) {
        let is_it =
            |live: &&mut Live| live.attempt_no == attempt_no && live.slots == 0 && !live.ended;
        self.change(at, |task_run| {
            if let Some(live) = task_run.live.as_mut().filter(is_it) {
                (live.rest, live.polls) = (rest, polls);
            }
        });
    }

    /// A run, if it is here.
    pub fn run(&self, run: RunId) -> Option<&Run> {
        self.runs.get(&run)
    }

    /// All runs that are here, by id.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.values()
    }

    /// A task run, if it is here.
    pub fn task_run(&self, at: TaskRunRef) -> Option<&TaskRun> {
        self.runs.get(&at.run)?.get(at.index)
    }

    /// When `Tick` or `ScheduleDue` is needed next; in the past where it is overdue.
    pub fn next_wake(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let fire = self.dues.first().map(|(at, _)| *at).filter(|_| !self.interrupting);
        timer.into_iter().chain(fire).min()
    }

    /// When `Tick` is needed next.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// When a schedule fires next.
    pub fn next_fire(&self) -> Option<Instant> {
        self.dues.first().map(|(due, _)| *due)
    }

    /// A schedule for which `ScheduleDue` is needed at this instant, the earliest first.
    pub fn next_schedule_due(&self, now: Instant) -> Option<ScheduleId> {
        let (due, schedule) = *self.dues.first()?;
        (due <= now && !self.interrupting).then_some(schedule)
    }

    /// This timed run is there, though it is not here: somebody made it, or it has ended.
    pub fn know_timed(&mut self, key: TimedKey, run: RunId) {
        self.timed.insert(key, run);
    }

    /// How many attempts are live for which something runs: those that rest are not counted.
    pub fn live_count(&self) -> usize {
        let runs = |live: &&Live| !live.ended && live.rest.is_none();
        self.leased.iter().filter_map(|at| self.live(*at)).filter(runs).count()
    }

    /// How many attempts have ended whose thread still runs and holds its slots.
    pub fn zombie_count(&self) -> usize {
        self.leased.iter().filter_map(|at| self.live(*at)).filter(|live| live.ended).count()
    }

    /// Whether `Dispatch` would start something, or stop it to have its slot.
    pub fn has_ready(&self, now: Instant) -> bool {
        let first = self.admission(now, true);
        !(first.starts.is_empty() && first.victims.is_empty())
    }

    /// Whether anything starts in the pool of this task run.
    pub(super) fn is_open(&self, at: TaskRunRef) -> bool {
        self.pools.get(&self.pool_of(at)).is_some_and(|pool| pool.slots > 0)
    }

    /// A pool's slots and how many of them are held.
    pub fn pool(&self, pool: Option<&str>) -> Option<(u32, u32)> {
        self.pools.get(&pool.map(str::to_owned)).map(|pool| (pool.slots, pool.held))
    }

    /// A limit's slots and how many of them are held.
    pub fn limit(&self, limit: &str) -> Option<(Option<u32>, u32)> {
        self.limits.get(limit).map(|limit| (limit.slots, limit.held))
    }

    /// Limits of which something is known here.
    pub fn limit_names(&self) -> Vec<String> {
        self.limits.keys().cloned().collect()
    }

    /// How many slots there are for a claim, and how many are held.
    pub(super) fn limit_for(&self, claim: &Claim) -> (u32, u32) {
        if let Some(slots) = self.share_for(claim) {
            return (slots, self.limits.get(&claim.limit).map_or(0, |limit| limit.held));
        }
        match self.limits.get(&claim.limit) {
            Some(limit) => (limit.capacity(claim), limit.held),
            None => (claim.most.unwrap_or(0), 0),
        }
    }

    /// Whether an orderly shutdown is under way.
    pub fn interrupting(&self) -> bool {
        self.interrupting
    }

    pub(super) fn live(&self, at: TaskRunRef) -> Option<&Live> {
        self.task_run(at)?.live.as_ref()
    }

    /// How many slots an attempt of this task run takes.
    pub(super) fn slots(&self, at: TaskRunRef) -> u32 {
        let task = self.runs.get(&at.run).and_then(|run| run.task(at.index));
        task.map_or(0, |task| task.def.slots())
    }

    /// A run is here from now on. `left_out`: what of it does not count as a run of its task.
    pub(super) fn insert(&mut self, run: Run, left_out: Option<&BTreeSet<u32>>) {
        let mut run = run;
        let id = run.row.id;
        run.filling = self.of_backfill(&run);
        self.instants.insert((run.row.dag_id, run.row.nominal_at, id));
        if let Some(key) = run.row.timed_key() {
            self.timed.insert(key, id);
        }
        let count = run.task_runs.len() as u32;
        self.runs.insert(id, run);
        self.share_pools(id);
        self.recount(id);
        for index in 0..count {
            let at = TaskRunRef { run: id, index };
            let keys = self.keys(at);
            self.put(at, &keys);
            self.watch(at, true);
        }
        self.be_found(id, left_out);
        self.reblock_run(id);
    }

    /// The edges of a task run to other runs look at their cells from now on, or no more.
    fn watch(&mut self, at: TaskRunRef, to: bool) {
        let Some(run) = self.runs.get(&at.run) else { return };
        if run.plan.across(at.index).is_empty() {
            return;
        }
        let (plan, when) = (Arc::clone(&run.plan), run.period());
        match to {
            true => self.cells.watch(at, &plan, when),
            false => self.cells.unwatch(at, &plan, when),
        }
    }

    /// A run that came in is seen by the edges that look at its tasks, its own among them: a window
    /// of a dag on itself may reach to the run that looks.
    fn be_found(&mut self, id: RunId, left_out: Option<&BTreeSet<u32>>) {
        if self.cells.is_empty() {
            return;
        }
        let Some(run) = self.runs.get(&id) else { return };
        let (plan, when) = (Arc::clone(&run.plan), (run.row.biz_date, run.row.nominal_at));
        let is_in = |index: &u32| !left_out.is_some_and(|out| out.contains(index));
        let all = (0u32..).zip(&run.task_runs).filter(|(index, _)| is_in(index));
        let all = all.filter_map(|(index, task_run)| Some((index, found(id, task_run)?)));
        for (index, found) in all.collect::<Vec<_>>() {
            self.see(&plan, index, when, &found);
        }
    }

    fn remove(&mut self, id: RunId) {
        let count = self.runs.get(&id).map_or(0, |run| run.task_runs.len() as u32);
        let blocks = self.blocks_of_run(id);
        for index in 0..count {
            let at = TaskRunRef { run: id, index };
            self.watch(at, false);
            let keys = self.keys(at);
            self.take(at, &keys);
        }
        if let Some(run) = self.runs.remove(&id) {
            self.instants.remove(&(run.row.dag_id, run.row.nominal_at, id));
            if let Some(key) = run.row.timed_key().filter(|key| self.timed.get(key) == Some(&id)) {
                self.timed.remove(&key);
            }
            if run.counted {
                self.one_less(run.row.dag_id);
            }
        }
        blocks.into_iter().for_each(|block| self.reblock(block));
    }

    /// Changes a task run and with it its places in queue, timers and pools. None where there
    /// is no such task run.
    pub(super) fn change<T>(
        &mut self,
        at: TaskRunRef,
        change: impl FnOnce(&mut TaskRun) -> T,
    ) -> Option<T> {
        let before = self.keys(at);
        let task_run = self.runs.get_mut(&at.run)?.task_runs.get_mut(at.index as usize)?;
        let done = change(task_run);
        let after = self.keys(at);
        if before != after {
            self.take(at, &before);
            self.put(at, &after);
        }
        if let Some(block) = self.block(at) {
            self.reblock(block);
        }
        Some(done)
    }

    /// Counts a run among those of its dag that are active, or no more. It is active while it has
    /// something that runs, may start or is tried again: what only waits for something outside
    /// (another dag, a time, a person) must not keep out what it waits for.
    pub(super) fn recount(&mut self, id: RunId) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let (before, now) = (run.counted, run.tally.is_active());
        run.counted = now;
        let dag = run.row.dag_id;
        self.stand(id);
        match (before, now) {
            (true, false) => self.one_less(dag),
            (false, true) => *self.active.entry(dag).or_default() += 1,
            _ => {}
        }
    }

    /// A run of this dag is active no more: fires that waited for that may go on.
    pub(super) fn one_less(&mut self, dag: DagId) {
        if let Some(active) = self.active.get_mut(&dag) {
            *active = active.saturating_sub(1);
            if *active == 0 {
                self.active.remove(&dag);
            }
        }
        self.wake_schedules(dag);
    }
}

/// What each of these rows is in a run of this plan; none where they are not of such a run.
fn places(plan: &Plan, rows: &[TaskRunRow]) -> Option<Vec<Place>> {
    let mut places: Vec<Place> = (0..plan.tasks.len() as u32).map(|at| plan.place(at)).collect();
    let Some(items) = rows.get(plan.tasks.len()..).filter(|items| !items.is_empty()) else {
        return Some(places);
    };
    let mapped = (0u32..).zip(&plan.tasks).filter(|(_, task)| task.def.map.is_some());
    let mapped: BTreeMap<_, u32> = mapped.map(|(at, task)| (task.task_id, at)).collect();
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    for row in items {
        let of = *mapped.get(&row.task_id)?;
        let place = next.entry(of).or_default();
        let map_index = u32::try_from(row.map_index).ok().filter(|at| at == place)?;
        *place += 1;
        places.push(Place::Item { of, map_index });
    }
    Some(places)
}
