//! A backfill in the world: its plan, what became of each of its runs, and whether there is room
//! for the next one.
//!
//! Runs are made in the order of the plan, which puts each after those that it waits for. At most
//! `max_active` of them are open at once; where none of those can move by itself, because all of
//! them wait for something outside of the backfill, the next one is made all the same. So what is
//! to be made never waits for what waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::blocks::{Block, blocks_of};
use super::edges::skip_codes;
use super::queue::Pool;
use super::run::Run;
use super::{Plan, TaskRunRef, World};
use crate::model::{
    BackfillId, BackfillPlan, BackfillRow, BackfillState, Claim, DagId, Instant, OnFailure, RunId,
    RunState, State, TaskId, TaskRunId, TaskSet, backfill_notes,
};

/// What stands before the limit that the attempts of a backfill share in a pool. No name has a
/// colon.
pub(super) const SHARE: &str = "fill:";

/// A backfill in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Backfilling {
    /// Its row.
    pub row: BackfillRow,
    /// What the runs of each of its plan's sets are to do.
    pub(super) plans: Vec<Arc<Plan>>,
    places: Vec<BackfillPlace>,
    /// Places of which one runs for all.
    pub(super) blocks: Vec<Block>,
    /// The number of the block of a place and a task.
    pub(super) block_numbers: BTreeMap<(u32, TaskId), u32>,
    ordinals: BTreeMap<RunId, u32>,
    /// The places of each instant, where somebody asks: of a reprocess.
    instants: BTreeMap<Instant, Vec<u32>>,
    /// Places for which a run is still to be made.
    unmade: BTreeSet<u32>,
    /// Runs that can still move.
    open: u32,
    /// Those of them in which something runs, may start or is tried again.
    active: u32,
    /// Runs that ended otherwise than well.
    badly: u32,
    /// Places that never got a run, though none was in flight.
    left: u32,
    /// Whether nothing of it starts in this process until it is resumed. Not stored.
    pub(super) halted: bool,
}

/// What became of a place of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackfillPlace {
    /// Its run.
    pub run: Option<RunId>,
    /// Why there is none.
    pub note: Option<String>,
    /// Where the run stands.
    pub state: Option<RunState>,
    /// Whether something in it runs, may start or is tried again.
    active: bool,
}

impl BackfillPlace {
    /// As it is stored.
    pub fn of(run: Option<RunId>, note: Option<String>, state: Option<RunState>) -> BackfillPlace {
        BackfillPlace { run, note, state, active: false }
    }
}

/// To which backfill a run belongs, and what that makes of its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfBackfill {
    pub id: BackfillId,
    pub ordinal: u32,
    /// The most urgent class that its attempts have.
    pub priority: u8,
    /// Of each pool, so many percent of the slots are theirs at most.
    share: u8,
    /// Whether none of them starts for now.
    pub halted: bool,
}

impl OfBackfill {
    /// What an attempt in a pool takes of the share of its backfill there.
    pub fn claim(&self, pool: Option<&str>, slots: u32) -> Option<Claim> {
        let limit = format!("{SHARE}{}:{}", self.id, pool.unwrap_or_default());
        (slots > 0).then_some(Claim { limit, slots, most: None })
    }
}

/// A part of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pool: Option<String>,
    percent: u8,
}

impl Share {
    /// How many slots it has: rounded up, and one at least where there is one.
    fn slots(&self, pools: &BTreeMap<Option<String>, Pool>) -> u32 {
        let all = pools.get(&self.pool).map_or(0, |pool| pool.slots);
        let part = (u64::from(all) * u64::from(self.percent.min(100))).div_ceil(100);
        u32::try_from(part).unwrap_or(all).max(all.min(1))
    }
}

/// What a backfill needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The next runs are made.
    Make,
    /// One has failed: no more are made.
    Stop,
    /// Everything has ended.
    End(BackfillState),
}

impl Backfilling {
    pub(super) fn new(
        row: BackfillRow,
        plans: Vec<Arc<Plan>>,
        places: Vec<BackfillPlace>,
    ) -> Backfilling {
        let blocks = blocks_of(&row.plan);
        let numbered = (0u32..).zip(&blocks).flat_map(|(number, block)| {
            block.places.iter().map(move |ordinal| ((*ordinal, block.task), number))
        });
        let block_numbers = numbered.collect();
        let mut filling = Backfilling {
            row,
            plans,
            places: Vec::new(),
            blocks,
            block_numbers,
            ordinals: BTreeMap::new(),
            instants: BTreeMap::new(),
            unmade: BTreeSet::new(),
            open: 0,
            active: 0,
            badly: 0,
            left: 0,
            halted: false,
        };
        if filling.row.plan.ask.reprocess {
            for (ordinal, run) in (0u32..).zip(&filling.row.plan.runs) {
                filling.instants.entry(run.nominal_at).or_default().push(ordinal);
            }
        }
        for (ordinal, place) in (0u32..).zip(places) {
            filling.places.push(BackfillPlace::default());
            filling.unmade.insert(ordinal);
            filling.set(ordinal, |known| *known = place);
        }
        filling
    }

    /// What became of each place of its plan, in the order of that.
    pub fn places(&self) -> &[BackfillPlace] {
        &self.places
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<BackfillPlan> {
        &self.row.plan
    }

    /// Whether nothing of it starts in this process until it is resumed.
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// How many of its runs are open, and how many of these can move by themselves.
    pub fn open(&self) -> (u32, u32) {
        (self.open, self.active)
    }

    /// Places for which a run is still to be made, in order.
    pub fn unmade(&self) -> impl Iterator<Item = u32> + '_ {
        self.unmade.iter().copied()
    }

    /// The place of a run.
    pub(super) fn ordinal(&self, run: RunId) -> Option<u32> {
        self.ordinals.get(&run).copied()
    }

    /// Whether a cell of a place is left as it is where nothing that it depends on comes out changed.
    pub(super) fn keeps(&self, ordinal: u32, task: TaskId) -> bool {
        self.set_of(ordinal).is_some_and(|set| self.holds(&set.keep, task))
    }

    /// The place that has a cell.
    pub(super) fn planned(&self, task: TaskId, nominal_at: Instant) -> Option<u32> {
        let has =
            |ordinal: &&u32| self.set_of(**ordinal).is_some_and(|set| self.holds(&set.tasks, task));
        self.instants.get(&nominal_at)?.iter().find(has).copied()
    }

    fn set_of(&self, ordinal: u32) -> Option<&TaskSet> {
        let plan = &self.row.plan;
        plan.sets.get(plan.runs.get(ordinal as usize)?.set as usize)
    }

    fn holds(&self, tasks: &[u32], task: TaskId) -> bool {
        let id = |index: &u32| self.row.plan.tasks.get(*index as usize).map(|task| task.task_id);
        tasks.iter().any(|index| id(index) == Some(task))
    }

    /// Changes a place, and the counts with it.
    pub(super) fn set(&mut self, ordinal: u32, change: impl FnOnce(&mut BackfillPlace)) {
        let Some(place) = self.places.get_mut(ordinal as usize) else { return };
        let before = counts(place);
        change(place);
        let after = counts(place);
        self.open = self.open + after.0 - before.0;
        self.active = self.active + after.1 - before.1;
        self.badly = self.badly + after.2 - before.2;
        self.left = self.left + after.3 - before.3;
        if let Some(run) = place.run {
            self.ordinals.insert(run, ordinal);
        }
        if place.run.is_none() && place.note.is_none() {
            self.unmade.insert(ordinal);
        } else {
            self.unmade.remove(&ordinal);
        }
    }

    /// Whether so many runs more may be made, `made` of them in this decision.
    pub(super) fn fits(&self, made: u32, more: u32) -> bool {
        let open = self.open + made;
        open == 0
            || u64::from(open) + u64::from(more) <= u64::from(self.row.plan.ask.max_active)
            || self.active + made == 0
    }

    /// The next group of runs to be made, after those of this decision.
    pub(super) fn next_group(&self, after: Option<u32>) -> Vec<u32> {
        let from = after.map_or(0, |after| after + 1);
        let mut rest = self.unmade.range(from..).copied().peekable();
        let group = |ordinal: u32| self.row.plan.runs.get(ordinal as usize).map(|run| run.group);
        let Some(first) = rest.peek().and_then(|first| group(*first)) else { return Vec::new() };
        rest.take_while(|ordinal| group(*ordinal) == Some(first)).collect()
    }

    /// What it needs next.
    pub(super) fn due(&self) -> Option<Due> {
        let state = self.row.state;
        if state.is_final() {
            return None;
        }
        if self.unmade.is_empty() {
            let ended = match () {
                () if self.open > 0 => return None,
                () if self.row.cancel_requested => BackfillState::Canceled,
                () if self.badly + self.left > 0 => BackfillState::Failed,
                () => BackfillState::Success,
            };
            return Some(Due::End(ended));
        }
        if self.badly > 0 && self.row.plan.ask.on_failure == OnFailure::Stop {
            return Some(Due::Stop);
        }
        let is_room = || self.fits(0, self.next_group(None).len() as u32);
        (state == BackfillState::Running && !self.halted && is_room()).then_some(Due::Make)
    }

    /// Whether there is anything that `Retry` would run again or make; or to see that all is well by
    /// now, because what was BLOCKED went on when its upstream was repaired.
    pub(super) fn can_be_retried(&self) -> bool {
        self.badly + self.left > 0 || self.row.state == BackfillState::Failed
    }
}

/// Whether it is open, active, ended badly, left out.
fn counts(place: &BackfillPlace) -> (u32, u32, u32, u32) {
    let is_open = place.state == Some(RunState::Running);
    let badly = matches!(place.state, Some(RunState::Failed | RunState::Canceled));
    let left = place.note.as_deref().is_some_and(|note| note != backfill_notes::RUNNING);
    (
        u32::from(is_open),
        u32::from(is_open && place.active),
        u32::from(badly),
        u32::from(left && place.run.is_none()),
    )
}

impl World {
    /// A backfill is here from now on, as its rows have it; before its runs are loaded.
    pub fn load_backfill(
        &mut self,
        row: BackfillRow,
        plans: Vec<Arc<Plan>>,
        places: Vec<BackfillPlace>,
    ) {
        let id = row.id;
        self.fillings.insert(id, Backfilling::new(row, plans, places));
        self.adopt_runs(id);
    }

    /// The runs of a backfill that are here are of its class and share from now on.
    fn adopt_runs(&mut self, id: BackfillId) {
        let here = self.runs.values().filter(|run| run.row.backfill_id == Some(id));
        let here: Vec<RunId> = here.map(|run| run.row.id).collect();
        for run in here {
            let count = self.runs.get(&run).map_or(0, |run| run.task_runs.len() as u32);
            let all = || (0..count).map(|index| TaskRunRef { run, index });
            for at in all() {
                let keys = self.keys(at);
                self.take(at, &keys);
            }
            let of = self.runs.get(&run).and_then(|run| self.of_backfill(run));
            if let Some(run) = self.runs.get_mut(&run) {
                run.filling = of;
            }
            self.share_pools(run);
            for at in all() {
                let keys = self.keys(at);
                self.put(at, &keys);
            }
            self.stand(run);
            self.reblock_run(run);
        }
        self.refill(id);
    }

    /// Nothing of a backfill starts here any more, or it does again.
    pub fn halt(&mut self, id: BackfillId, halted: bool) {
        if let Some(filling) = self.fillings.get_mut(&id).filter(|known| known.halted != halted) {
            filling.halted = halted;
            self.adopt_runs(id);
        }
    }

    /// A backfill is here no more; runs of it that are go on.
    pub fn forget_backfill(&mut self, id: BackfillId) {
        // What is left of a block is each for itself from now on.
        let here = self.runs.keys().copied().filter(|run| !self.blocks_of_run(*run).is_empty());
        let of_it = |run: &RunId| self.runs.get(run).is_some_and(|r| r.row.backfill_id == Some(id));
        let here: Vec<RunId> = here.filter(of_it).collect();
        let all: Vec<TaskRunRef> = (here.iter())
            .flat_map(|run| {
                let count = self.runs.get(run).map_or(0, |run| run.task_runs.len() as u32);
                (0..count).map(|index| TaskRunRef { run: *run, index })
            })
            .collect();
        for at in &all {
            let keys = self.keys(*at);
            self.take(*at, &keys);
        }
        self.fillings.remove(&id);
        self.due_fills.remove(&id);
        self.released.retain(|block, _| block.backfill != id);
        for run in here {
            if let Some(run) = self.runs.get_mut(&run) {
                run.filling = None;
            }
        }
        for at in &all {
            let keys = self.keys(*at);
            self.put(*at, &keys);
        }
    }

    /// Whether there is a backfill.
    pub fn has_backfills(&self) -> bool {
        !self.fillings.is_empty()
    }

    /// The task run that stands for an upstream which the run of this one leaves out, where it is a
    /// part of its dag, or leaves as it is: whose result is another's.
    pub fn left_out(&self, at: TaskRunRef, upstream: &str) -> Option<TaskRunId> {
        let run = self.runs.get(&at.run)?;
        let index = run.planned(at.index);
        let mut here = run.plan.graph.upstream(index).iter();
        let is_named = |at: &&u32| run.task(**at).is_some_and(|task| task.def.name == upstream);
        if let Some(here) = here.find(is_named).and_then(|index| run.get(*index)) {
            let left = here.progress.code.as_deref() == Some(skip_codes::UNCHANGED);
            return left.then_some(here.id);
        }
        let names =
            |key: &str| key.strip_prefix(&*run.row.dag)?.strip_prefix('.').map(str::to_owned);
        let edge = run
            .plan
            .across(index)
            .iter()
            .find(|edge| edge.same && names(&edge.upstream).as_deref() == Some(upstream))?;
        let key = edge.cells(run.period()).into_iter().next()?;
        self.cells.known(&key)?.found.get(&run.row.nominal_at).map(|found| found.task_run)
    }

    /// A backfill, if it is here.
    pub fn backfill(&self, id: BackfillId) -> Option<&Backfilling> {
        self.fillings.get(&id)
    }

    /// All backfills that are here, by id.
    pub fn backfills(&self) -> impl Iterator<Item = &Backfilling> {
        self.fillings.values()
    }

    /// A backfill for which `Fill` is needed.
    pub fn next_fill(&self) -> Option<BackfillId> {
        self.due_fills.first().copied().filter(|_| !self.interrupting)
    }

    /// A commit found this cell open in a run that is not here.
    pub fn know_open(&mut self, task: TaskId, nominal_at: Instant) {
        self.elsewhere.insert((task, nominal_at));
    }

    /// A commit found that a run of a backfill that is not here computes this cell.
    pub fn know_filled(
        &mut self,
        (task, nominal_at): (TaskId, Instant),
        run: RunId,
        backfill: BackfillId,
    ) {
        self.filled.insert((task, nominal_at), (run, backfill));
    }

    /// The run of a backfill that is known to compute one of these cells, and is not here.
    pub(super) fn filled_elsewhere(
        &self,
        tasks: &[TaskId],
        nominal_at: Instant,
    ) -> Option<(RunId, BackfillId)> {
        tasks.iter().find_map(|task| self.filled.get(&(*task, nominal_at)).copied())
    }

    /// What was known of cells that are open elsewhere is old.
    pub fn forget_open(&mut self) {
        self.elsewhere.clear();
        self.filled.clear();
    }

    /// The open runs of a dag for an instant that hold one of these tasks.
    pub(super) fn open_cells<'w>(
        &'w self,
        dag: DagId,
        tasks: &'w [TaskId],
        nominal_at: Instant,
    ) -> impl Iterator<Item = (&'w Run, Vec<u32>)> + 'w {
        let first = (dag, nominal_at, RunId(i64::MIN));
        let last = (dag, nominal_at, RunId(i64::MAX));
        let runs = self.instants.range(first..=last).filter_map(|(_, _, run)| self.runs.get(run));
        runs.filter_map(move |run| {
            let open = (0u32..).zip(run.task_runs()).filter(|(index, task_run)| {
                let is_one = run.task(*index).is_some_and(|task| tasks.contains(&task.task_id));
                is_one && !task_run.progress.state.is_final()
            });
            let open: Vec<u32> = open.map(|(index, _)| index).collect();
            (!open.is_empty()).then_some((run, open))
        })
    }

    /// Whether a cell of these is open in a run that can move.
    pub(super) fn is_in_flight(&self, dag: DagId, tasks: &[TaskId], nominal_at: Instant) -> bool {
        let known = tasks.iter().any(|task| self.elsewhere.contains(&(*task, nominal_at)));
        known
            || self.open_cells(dag, tasks, nominal_at).any(|(run, open)| {
                run.row.state == RunState::Running
                    || open.iter().any(|index| {
                        run.get(*index)
                            .is_some_and(|t| t.live.is_some() || t.progress.state == State::Running)
                    })
            })
    }

    /// To which backfill a run belongs, as far as that is here.
    pub(super) fn of_backfill(&self, run: &Run) -> Option<OfBackfill> {
        let id = run.row.backfill_id?;
        let filling = self.fillings.get(&id)?;
        let ask = &filling.row.plan.ask;
        let ordinal = filling.ordinal(run.row.id)?;
        let (priority, share, halted) = (ask.priority, ask.share, filling.halted);
        Some(OfBackfill { id, ordinal, priority, share, halted })
    }

    /// The pools in which a run has a share of its backfill's.
    pub(super) fn share_pools(&mut self, run: RunId) {
        let Some(run) = self.runs.get(&run) else { return };
        let Some(of) = run.filling else { return };
        for task in &run.plan.tasks {
            let pool = task.def.policy.pool.clone();
            let Some(claim) = of.claim(pool.as_deref(), 1) else { continue };
            let share = Share { pool, percent: of.share };
            self.shares.entry(claim.limit).or_insert(share);
        }
    }

    /// How many slots there are for a claim, where it is one of the share of a backfill.
    pub(super) fn share_for(&self, claim: &Claim) -> Option<u32> {
        if !claim.limit.starts_with(SHARE) {
            return None;
        }
        self.shares.get(&claim.limit).map(|share| share.slots(&self.pools))
    }

    /// A run of a backfill stands otherwise now.
    pub(super) fn stand(&mut self, run: RunId) {
        let Some(found) = self.runs.get(&run) else { return };
        let Some(of) = found.filling else { return };
        let (state, active) = (found.row.state, found.counted);
        let dag = found.row.dag_id;
        let Some(filling) = self.fillings.get_mut(&of.id) else { return };
        let was = filling.places.get(of.ordinal as usize).and_then(|place| place.state);
        filling.set(of.ordinal, |place| {
            place.state = Some(state);
            place.active = active;
        });
        self.refill(of.id);
        if was == Some(RunState::Running) && state != RunState::Running {
            // A fire of the same instant may have waited for it.
            self.wake_schedules(dag);
        }
    }

    /// Whether a backfill needs something is seen anew.
    pub(super) fn refill(&mut self, id: BackfillId) {
        let due = self.fillings.get(&id).and_then(Backfilling::due);
        if due.is_some() {
            self.due_fills.insert(id);
        } else {
            self.due_fills.remove(&id);
        }
    }
}
