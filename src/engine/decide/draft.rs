//! A decision in the making: the world as it would be, and what leads there.
//!
//! The world itself is not touched. What a decision has changed so far lies in a few maps over
//! it, so a decision costs as much as it changes and not as much as the world holds.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::cell::{CellKey, Found, Known, Votes};
use super::super::edges::{Counts, Standing, Texts, Verdict, edge_verdict};
use super::super::items::Place;
use super::super::run::{Live, Run, Tally, TaskRun};
use super::super::{
    Decision, EdgeAt, Effect, LeaseStop, Move, PlannedTask, RunMove, Stop, TaskRunRef, World,
};
use crate::model::{Instant, Progress, RunId, RunState, State, StopReason, TaskRunId};

pub(super) struct Draft<'w> {
    pub world: &'w World,
    pub now: Instant,
    pub out: Decision,
    /// Runs that this decision makes.
    pub fresh: Vec<Run>,
    /// The run of the world that was asked for last: mostly it is asked for again.
    last: Cell<Option<&'w Run>>,
    /// Where task runs that have moved stand: their last move in `out`.
    moved: BTreeMap<TaskRunRef, usize>,
    pub(super) edges: BTreeMap<TaskRunRef, Edges>,
    freed: BTreeSet<TaskRunRef>,
    /// Counts of the items of mapped tasks.
    pub(super) items: BTreeMap<TaskRunRef, Tally>,
    runs: BTreeMap<RunId, RunDraft>,
    /// Cells that were read with this decision.
    pub(super) read: BTreeMap<CellKey, Known>,
    /// Runs in cells that stand otherwise than the cells say.
    pub(super) found: BTreeMap<(CellKey, Instant), Found>,
    /// What cells say to edges, where that has changed.
    pub(super) votes: BTreeMap<(TaskRunRef, u32), Votes>,
    /// Edges that are waited for no longer from now on.
    pub(super) over: BTreeSet<(TaskRunRef, EdgeAt)>,
    /// Output in files of attempts that have just ended.
    pub(super) texts: BTreeMap<TaskRunRef, Texts>,
    /// Task runs whose edges or lease have changed; to be judged.
    pub(super) touched: VecDeque<TaskRunRef>,
    /// Task runs with a broken edge; judged when nothing else is left to judge.
    pub(super) broken: VecDeque<TaskRunRef>,
}

/// What a decision has changed about the edges of a task run.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    pub counts: Counts,
    /// The root cause that an upstream gave for its bad end.
    pub hint: Option<TaskRunId>,
    /// Whether an edge whose cause it is blocked by is broken no longer, though others are.
    pub lost_cause: bool,
    /// Whether its upstreams were searched for a root cause already.
    pub searched: bool,
}

struct RunDraft {
    tally: Tally,
    cancel_requested: bool,
}

impl<'w> Draft<'w> {
    pub fn new(world: &'w World, now: Instant) -> Draft<'w> {
        Draft {
            world,
            now,
            out: Decision::default(),
            fresh: Vec::new(),
            last: Cell::new(None),
            moved: BTreeMap::new(),
            edges: BTreeMap::new(),
            freed: BTreeSet::new(),
            items: BTreeMap::new(),
            runs: BTreeMap::new(),
            read: BTreeMap::new(),
            found: BTreeMap::new(),
            votes: BTreeMap::new(),
            over: BTreeSet::new(),
            texts: BTreeMap::new(),
            touched: VecDeque::new(),
            broken: VecDeque::new(),
        }
    }

    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.fresh.iter().find(|run| run.row.id == id).or_else(|| self.in_world(id))
    }

    /// A run as the world has it.
    fn in_world(&self, id: RunId) -> Option<&'w Run> {
        match self.last.get() {
            Some(run) if run.row.id == id => Some(run),
            _ => {
                self.last.set(self.world.run(id));
                self.last.get()
            }
        }
    }

    /// A task run as the world has it.
    pub fn task_run(&self, at: TaskRunRef) -> Option<&'w TaskRun> {
        self.in_world(at.run)?.get(at.index)
    }

    pub fn task(&self, at: TaskRunRef) -> Option<&PlannedTask> {
        self.run(at.run)?.task(at.index)
    }

    pub fn progress(&self, at: TaskRunRef) -> Option<&Progress> {
        match self.moved.get(&at) {
            Some(nth) => self.out.moves.get(*nth).map(|moved| &moved.to),
            None => Some(&self.run(at.run)?.get(at.index)?.progress),
        }
    }

    pub fn edges(&self, at: TaskRunRef) -> Edges {
        self.edges.get(&at).copied().unwrap_or_else(|| {
            let task_run = self.run(at.run).and_then(|run| run.get(at.index));
            let counts = task_run.map(|task_run| task_run.counts).unwrap_or_default();
            Edges { counts, hint: None, lost_cause: false, searched: false }
        })
    }

    /// Whether a lease keeps the task run from being started again.
    pub fn is_leased(&self, at: TaskRunRef) -> bool {
        self.task_run(at).is_some_and(|it| it.live.is_some()) && !self.freed.contains(&at)
    }

    /// The slot of this task run comes back with this decision.
    pub fn free(&mut self, at: TaskRunRef) {
        self.freed.insert(at);
        self.touched.push_back(at);
    }

    /// Takes an arrow, and tells the dependents.
    pub fn shift(&mut self, at: TaskRunRef, change: impl FnOnce(&mut Progress)) {
        let Some((id, before)) = self.record(at, change) else { return };
        self.spread(at, id, &before);
    }

    /// Takes two arrows at once, as far as the dependents are concerned.
    pub fn shift_twice(
        &mut self,
        at: TaskRunRef,
        first: impl FnOnce(&mut Progress),
        second: impl FnOnce(&mut Progress),
    ) {
        let Some((id, before)) = self.record(at, first) else { return };
        if self.record(at, second).is_some() {
            self.spread(at, id, &before);
        }
    }

    /// Writes an arrow down. Gives the id, and how it stood before.
    fn record(
        &mut self,
        at: TaskRunRef,
        change: impl FnOnce(&mut Progress),
    ) -> Option<(TaskRunId, Progress)> {
        let task_run = self.run(at.run)?.get(at.index)?;
        let (id, of) = match task_run.place {
            Place::Item { of, .. } => (task_run.id, Some(TaskRunRef { run: at.run, index: of })),
            _ => (task_run.id, None),
        };
        let before = self.progress(at)?.clone();
        let mut to = before.clone();
        change(&mut to);
        to.revision += 1;
        to.blocked_until = match to.state {
            State::Blocked => self.blocked_until(at),
            _ => None,
        };
        match of {
            Some(of) => self.item_moved(of, &before, &to),
            None => self.run_draft(at.run)?.tally.change(before.state, to.state),
        }
        self.moved.insert(at, self.out.moves.len());
        self.out.moves.push(Move { at, id, from: before.state, to, when: self.now });
        Some((id, before))
    }

    /// How long what is BLOCKED now may stay so. That does not begin anew where it was so before and
    /// only the cause is another.
    fn blocked_until(&self, at: TaskRunRef) -> Option<Instant> {
        let before = self.task_run(at).map(|task_run| &task_run.progress);
        if let Some(before) = before.filter(|before| before.state == State::Blocked) {
            return before.blocked_until;
        }
        let timeout_ms = self.task(at)?.def.policy.block_timeout_ms?;
        Some(self.now.plus_millis(timeout_ms))
    }

    /// Changes the counts of the dependents of a task run that has moved, and puts those whose
    /// edges are now others on the list of what is to be judged.
    fn spread(&mut self, at: TaskRunRef, id: TaskRunId, from: &Progress) {
        let Some(run) = self.run(at.run) else { return };
        let (plan, was) = (&run.plan, run.get(at.index).and_then(|it| it.texts.as_deref()));
        let Some(to) = self.progress(at) else { return };
        let (old_cause, new_cause) = (cause(id, from), cause(id, to));
        let is = self.texts.get(&at).or(was);
        let mut changed = Vec::new();
        for (index, rule) in plan.downstream(at.index) {
            let below = TaskRunRef { run: at.run, index };
            let over = rule.wait_up_to_ms.is_some() && self.is_over(below, EdgeAt::Here(at.index));
            let before = edge_verdict(rule, Standing::of(from, was)).without(over);
            let after = edge_verdict(rule, Standing::of(to, is)).without(over);
            if before != after || after == Verdict::Broken && old_cause != new_cause {
                changed.push((index, rule.kind, before, after));
            }
        }
        for (index, kind, before, after) in changed {
            let broken = after == Verdict::Broken;
            let below = TaskRunRef { run: at.run, index };
            let mut edges = self.edges(below);
            edges.counts.change(kind, before, after);
            if broken && self.wants_cause(below, edges, old_cause) {
                edges.hint = new_cause;
            }
            if before == Verdict::Broken && !broken {
                let blocked_by = self.progress(below).and_then(|progress| progress.blocked_by);
                edges.lost_cause |= blocked_by == old_cause;
            }
            self.edges.insert(below, edges);
            self.touched.push_back(below);
        }
        self.spread_across(at);
    }

    /// Whether a dependent does not know what blocks it, or has it from an upstream whose cause
    /// was `old` and is another now.
    fn wants_cause(&self, at: TaskRunRef, edges: Edges, old: Option<TaskRunId>) -> bool {
        if edges.hint.is_some_and(|hint| self.is_root(at, hint)) {
            return false;
        }
        let blocked_by = self.progress(at).and_then(|progress| progress.blocked_by);
        blocked_by.is_none_or(|root| Some(root) == old || !self.is_root(at, root))
    }

    /// Whether this task run is one that others can be blocked by: in the run of `at` one that ended
    /// badly by itself, is disabled, or is blocked by nothing that has an id; in another run one that
    /// an edge of `at`, or something upstream of it, names.
    pub fn is_root(&self, at: TaskRunRef, id: TaskRunId) -> bool {
        let Some(run) = self.run(at.run) else { return false };
        let Some(index) = run.index_of(id) else { return self.names_outside(at, id) };
        let progress = self.progress(TaskRunRef { run: at.run, index });
        progress.is_some_and(|p| match p.state {
            State::Blocked => p.blocked_by.is_none(),
            // Where its dependents are broken by it, it is disabled or an edge says block.
            State::Skipped => true,
            state => state.ended_badly(),
        })
    }

    /// Notes a stop on the lease of a live attempt. A stop that is under way already may become
    /// shorter, and gives way to a cancel; zero grace is the caller's to carry out.
    pub fn stop(&mut self, at: TaskRunRef, live: &Live, reason: StopReason, grace_ms: i64) -> Stop {
        let give_up_at = self.now.plus_millis(grace_ms.max(0));
        let stop = match live.stop {
            None => Stop { reason, give_up_at },
            Some(old) => Stop {
                reason: if reason == StopReason::Cancel { reason } else { old.reason },
                give_up_at: old.give_up_at.min(give_up_at),
            },
        };
        if live.stop == Some(stop) {
            return stop;
        }
        if let Some(task_run) = self.world.task_run(at) {
            self.out.stops.push(LeaseStop { at, id: task_run.id, stop });
        }
        if live.stop.is_none_or(|old| old.reason != stop.reason) {
            self.out.effects.push(Effect::Stop {
                at,
                attempt_no: live.attempt_no,
                token: live.token,
                reason: stop.reason,
                grace_ms: stop.give_up_at.millis_since(self.now),
            });
        }
        stop
    }

    /// Notes whether all of a run is asked to stop.
    pub fn set_cancel_requested(&mut self, run: RunId, to: bool) {
        if let Some(run) = self.run_draft(run) {
            run.cancel_requested = to;
        }
    }

    /// Whether everything that is PENDING in a run waits for what is BLOCKED there, and for nothing
    /// that comes from outside or by time.
    fn is_stuck(&self, run: &Run) -> bool {
        (0..run.row.task_count).all(|index| {
            let at = TaskRunRef { run: run.row.id, index };
            let pending = self.progress(at).is_some_and(|p| p.state == State::Pending);
            let counts = self.edges(at).counts;
            !pending || counts.outside == 0 && counts.unmet > 0 && !self.is_patient(at)
        })
    }

    /// The state of a run is derived anew when this decision is done.
    pub(super) fn look_at_run(&mut self, id: RunId) {
        self.run_draft(id);
    }

    fn run_draft(&mut self, id: RunId) -> Option<&mut RunDraft> {
        if !self.runs.contains_key(&id) {
            let run = self.run(id)?;
            let draft = RunDraft { tally: run.tally, cancel_requested: run.cancel_requested };
            self.runs.insert(id, draft);
        }
        self.runs.get_mut(&id)
    }

    /// Judges what is left to judge, derives the states of the runs, and is done.
    pub fn finish(mut self) -> Decision {
        self.settle();
        for (id, draft) in std::mem::take(&mut self.runs) {
            let Some(run) = self.run(id) else { continue };
            let stuck = draft.tally.may_be_stuck() && self.is_stuck(run);
            let (from, to) = (run.row.state, draft.tally.run_state(draft.cancel_requested, stuck));
            if from == to && draft.cancel_requested == run.cancel_requested {
                continue;
            }
            let finished_at = match to {
                RunState::Running => None,
                _ if from == to => run.row.finished_at,
                _ => Some(self.now),
            };
            let cancel_requested = draft.cancel_requested;
            self.out.run_moves.push(RunMove { run: id, from, to, finished_at, cancel_requested });
            if from == RunState::Running && to != from {
                self.out.effects.push(Effect::RunEnded(id));
            }
        }
        self.out
    }
}

/// What a dependent of a task run that stands so is blocked by, if its edge is broken.
pub(super) fn cause(id: TaskRunId, progress: &Progress) -> Option<TaskRunId> {
    match progress.state {
        State::Blocked => Some(progress.blocked_by.unwrap_or(id)),
        State::Skipped => Some(id),
        state if state.ended_badly() => Some(id),
        _ => None,
    }
}
