//! A run in the world: its task runs with what is derived from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell::{Looking, Votes};
use super::edges::{Counts, EdgeRule, Standing, Texts, edge_verdict};
use super::filling::OfBackfill;
use super::items::{Items, Place};
use super::patience::Patience;
use super::queue::claims_of;
use super::watched::Cells;
use super::{Plan, PlannedTask, Rest, Stop, conditions};
use crate::model::{
    Claim, EdgeKind, Instant, LeaseRow, NodeId, Progress, RunRow, RunState, State, TaskRunId,
    TaskRunRow, Token, Trigger,
};

/// A run with all its task runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its row.
    pub row: RunRow,
    /// Whether all of it was asked to stop.
    pub cancel_requested: bool,
    /// What it is to do.
    pub plan: Arc<Plan>,
    /// One for each task of the plan; after them the items of mapped tasks, by their ids.
    pub(super) task_runs: Vec<TaskRun>,
    /// Of those of the plan: they make the state of the run.
    pub(super) tally: Tally,
    /// Of the items.
    pub(super) items: Tally,
    /// Whether the world counts it among the active ones of its dag.
    pub(super) counted: bool,
    /// Its backfill, if it is of one that is here.
    pub(super) filling: Option<OfBackfill>,
}

/// A task run: where it stands, its live attempt, and how many of its edges do not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// Its id.
    pub id: TaskRunId,
    /// What it is in its run.
    pub place: Place,
    /// When it was made.
    pub created_at: Instant,
    /// Where it stands.
    pub progress: Progress,
    /// The lease that it holds, if it does.
    pub live: Option<Live>,
    pub(super) counts: Counts,
    /// What the runs say that each edge to other runs looks at.
    pub(super) votes: Vec<Votes>,
    /// Edges that are not waited for for ever.
    pub(super) patience: Option<Box<Patience>>,
    /// What of its output is in files, where an edge looks at that.
    pub(super) texts: Option<Box<Texts>>,
}

/// A lease: an attempt that is live, or one that ended and whose thread still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Which attempt.
    pub attempt_no: u32,
    /// Its token.
    pub token: Token,
    /// Where it runs.
    pub node_id: NodeId,
    /// When it was started.
    pub started_at: Instant,
    /// How many slots of its task's pool it holds.
    pub slots: u32,
    /// What it holds of limits; none is nothing.
    pub limits: Option<Arc<BTreeMap<String, u32>>>,
    /// When its own time is over.
    pub timeout_at: Option<Instant>,
    /// A stop in progress.
    pub stop: Option<Stop>,
    /// True where its end is recorded already: only the slots are still held.
    pub ended: bool,
    /// How it rests, if nothing runs for it at the moment.
    pub rest: Option<Rest>,
    /// How often its check has said no since this process has it.
    pub polls: u32,
}

impl Run {
    /// A run that was just made: everything PENDING.
    pub(super) fn new(row: RunRow, plan: Arc<Plan>, cells: &Cells) -> Run {
        let task_runs = (0..row.task_count)
            .zip(&plan.tasks)
            .map(|(index, task)| TaskRun {
                id: row.first_task_run_id.offset(index),
                place: plan.place(index),
                created_at: row.created_at,
                progress: first_progress(&row, task),
                live: None,
                counts: Counts::default(),
                votes: Vec::new(),
                patience: None,
                texts: None,
            })
            .collect();
        Run::with(row, false, plan, task_runs, cells)
    }

    /// A run with these task runs, in the order of the plan; derives the rest.
    pub(super) fn with(
        row: RunRow,
        cancel_requested: bool,
        plan: Arc<Plan>,
        task_runs: Vec<TaskRun>,
        cells: &Cells,
    ) -> Run {
        let (tally, items, counted) = (Tally::default(), Tally::default(), false);
        let filling = None;
        let mut run =
            Run { row, cancel_requested, plan, task_runs, tally, items, counted, filling };
        for index in 0..run.task_runs.len() as u32 {
            if index >= run.row.task_count {
                run.count_item(index);
                continue;
            }
            let mut counts = Counts::default();
            for (upstream, rule) in run.plan.upstream(index) {
                if let Some(task_run) = run.get(upstream) {
                    counts.add(rule.kind, edge_verdict(rule, task_run.standing()));
                }
            }
            let votes = cells.votes(&run, index);
            for (edge, votes) in run.plan.across(index).iter().zip(&votes) {
                counts.add_outside(edge.rule.kind, *votes);
            }
            let patience = Patience::of(&run.row, &run.plan, index);
            if let Some(task_run) = run.task_runs.get_mut(index as usize) {
                task_run.patience = patience;
                task_run.counts = counts;
                task_run.votes = votes;
                run.tally.add(task_run.progress.state);
            }
        }
        run
    }

    /// Takes a new item into the counts.
    pub(super) fn count_item(&mut self, index: u32) {
        let Some(task_run) = self.task_runs.get(index as usize) else { return };
        let Place::Item { of, .. } = task_run.place else { return };
        let counted = (!task_run.progress.is_removed()).then_some(task_run.progress.state);
        if let Some(state) = counted {
            self.items.add(state);
        }
        if let Some(Place::Mapped(items)) =
            self.task_runs.get_mut(of as usize).map(|whole| &mut whole.place)
        {
            items.indexes.push(index);
            if let Some(state) = counted {
                items.tally.add(state);
            }
        }
    }

    /// A task run by its index in the run; like a slice, only for indexes there are.
    pub fn task_run(&self, index: u32) -> &TaskRun {
        &self.task_runs[index as usize]
    }

    /// The same for an index that may not exist.
    pub fn get(&self, index: u32) -> Option<&TaskRun> {
        self.task_runs.get(index as usize)
    }

    /// All its task runs: in the order of the plan, and then the items of mapped tasks.
    pub fn task_runs(&self) -> &[TaskRun] {
        &self.task_runs
    }

    /// How many of its task runs are in this state, items that were removed left out.
    pub fn count(&self, state: State) -> u32 {
        self.tally.of(state) + self.items.of(state)
    }

    /// The index of the task run with this id, if it is of this run.
    pub fn index_of(&self, id: TaskRunId) -> Option<u32> {
        let index = u32::try_from(id.0.checked_sub(self.row.first_task_run_id.0)?).ok()?;
        if index < self.row.task_count {
            return Some(index);
        }
        let items = self.task_runs.get(self.row.task_count as usize..)?;
        let at = items.binary_search_by_key(&id, |item| item.id).ok()?;
        u32::try_from(at).ok().map(|at| self.row.task_count + at)
    }

    /// Whether a task run goes on by itself when something outside of its run is repaired: it is
    /// blocked by another run, or by a task that is disabled.
    pub(super) fn may_go_on(&self, task_run: &TaskRun) -> bool {
        let is_outside = |root: Option<TaskRunId>| match root.map(|root| self.index_of(root)) {
            None | Some(None) => true,
            Some(Some(index)) => self
                .get(index)
                .is_some_and(|root| matches!(root.progress.state, State::Skipped | State::Blocked)),
        };
        task_run.progress.state == State::Blocked && is_outside(task_run.progress.blocked_by)
    }

    /// From where its edges look at other runs.
    pub(super) fn period(&self) -> Looking {
        Looking {
            biz_date: self.row.biz_date,
            nominal_at: self.row.nominal_at,
            // The run that a backfill makes of a dag that follows another is of the instant of that.
            follows: matches!(self.row.trigger, Trigger::Dependency | Trigger::Backfill),
        }
    }

    /// The task of a task run.
    pub fn task(&self, index: u32) -> Option<&PlannedTask> {
        self.plan.tasks.get(self.planned(index) as usize)
    }
}

impl TaskRun {
    /// What edges see of it.
    pub fn standing(&self) -> Standing<'_> {
        Standing::of(&self.progress, self.texts.as_deref())
    }
}

impl Run {
    /// The limit that the items of a mapping share, of an item.
    fn mapping_claim(&self, index: u32) -> Option<Claim> {
        let Place::Item { of, .. } = self.get(index)?.place else { return None };
        let most = self.plan.tasks.get(of as usize)?.def.map.as_ref()?.max_active?;
        Some(Claim { limit: format!("{MAPPING}{}:{of}", self.row.id), slots: 1, most: Some(most) })
    }

    /// What an attempt takes of the share of its backfill in its pool.
    fn share_claim(&self, index: u32) -> Option<Claim> {
        let (of, task) = (self.filling?, self.task(index)?);
        of.claim(task.def.policy.pool.as_deref(), task.def.slots())
    }

    /// What a task run takes of limits, the narrowest first: that of its mapping, the share of its
    /// backfill, that of its task, and those that dags share.
    pub(super) fn claims(&self, index: u32) -> Option<Arc<[Claim]>> {
        let of_task = self.task(index).and_then(claims_of);
        let (mapping, share) = (self.mapping_claim(index), self.share_claim(index));
        if mapping.is_none() && share.is_none() {
            return of_task;
        }
        let others = of_task.iter().flat_map(|claims| claims.iter().cloned());
        Some(mapping.into_iter().chain(share).chain(others).collect())
    }

    /// What its lease holds, with the limit of its mapping and the share of its backfill, which no
    /// row has.
    pub(super) fn with_own(
        &self,
        index: u32,
        held: Option<Arc<BTreeMap<String, u32>>>,
        slots: u32,
    ) -> Option<Arc<BTreeMap<String, u32>>> {
        let share = self.share_claim(index).map(|claim| Claim { slots, ..claim });
        let own: Vec<Claim> = self.mapping_claim(index).into_iter().chain(share).collect();
        if own.is_empty() {
            return held;
        }
        let mut all = held.map(|held| (*held).clone()).unwrap_or_default();
        all.extend(own.into_iter().map(|claim| (claim.limit, claim.slots)));
        Some(Arc::new(all))
    }

    /// The class of a task run: that of its task, or that of its backfill if it is less urgent.
    pub(super) fn priority(&self, index: u32) -> u8 {
        let own = self.task(index).map_or(0, |task| task.def.policy.priority);
        self.filling.map_or(own, |of| own.max(of.priority))
    }
}

/// What stands before the limit that the items of a mapping share. No name has a colon.
pub(super) const MAPPING: &str = "map:";

/// A task run as it stands when its run is made: it knows until when it waits and until when it is
/// to be finished.
fn first_progress(row: &RunRow, task: &PlannedTask) -> Progress {
    Progress { deadline_at: task.deadline_in(row), ..conditions::first_progress(row, Some(task)) }
}

impl Plan {
    /// The upstreams of a task with the rules of the edges to them.
    pub fn upstream(&self, index: u32) -> impl Iterator<Item = (u32, &EdgeRule)> {
        let edges = self.graph.upstream(index).iter().zip(self.graph.upstream_edges(index));
        edges.map(|(node, edge)| (*node, self.rule(*edge)))
    }

    /// The dependents of a task with the rules of the edges to them.
    pub fn downstream(&self, index: u32) -> impl Iterator<Item = (u32, &EdgeRule)> {
        let edges = self.graph.downstream(index).iter().zip(self.graph.downstream_edges(index));
        edges.map(|(node, edge)| (*node, self.rule(*edge)))
    }

    /// Whether an edge inside the run looks for a pattern in the output of a task.
    pub fn is_matched(&self, index: u32) -> bool {
        self.downstream(index).any(|(_, rule)| rule.kind == EdgeKind::OutputMatch)
    }

    /// What the task run of a task is, before anything has happened.
    pub(super) fn place(&self, index: u32) -> Place {
        let mapped = self.tasks.get(index as usize).is_some_and(|task| task.def.map.is_some());
        if mapped { Place::Mapped(Items::default()) } else { Place::Single }
    }

    fn rule(&self, edge: u32) -> &EdgeRule {
        static FALLBACK: EdgeRule = EdgeRule::of_kind(EdgeKind::Success);
        self.rules.get(edge as usize).unwrap_or(&FALLBACK)
    }

    /// The rows of the task runs that a new run of this plan has, all PENDING.
    pub fn task_run_rows(&self, run: &RunRow) -> Vec<TaskRunRow> {
        (0..run.task_count)
            .zip(&self.tasks)
            .map(|(index, task)| TaskRunRow {
                id: run.first_task_run_id.offset(index),
                run_id: run.id,
                task_id: task.task_id,
                task_version_id: task.version_id,
                map_index: if task.def.map.is_some() { -1 } else { 0 },
                nominal_at: run.nominal_at,
                biz_date: run.biz_date,
                created_at: run.created_at,
                progress: first_progress(run, task),
            })
            .collect()
    }
}

impl Live {
    /// A lease as the store has it. Its row knows neither its start nor the end of its grace.
    /// Its token is the instant of the start, unless the clock was set back since the attempt
    /// before; a stop that outlived the world it was decided in is given up at once.
    pub(super) fn from_row(lease: LeaseRow, progress: &Progress, task: &PlannedTask) -> Live {
        let current = progress.state == State::Running
            && progress.attempt_no == lease.attempt_no
            && progress.token == lease.token;
        let started_at = Instant(lease.token.0);
        Live {
            attempt_no: lease.attempt_no,
            token: lease.token,
            node_id: lease.node_id,
            started_at,
            slots: lease.slots,
            limits: (!lease.limits.is_empty()).then(|| Arc::new(lease.limits)),
            timeout_at: timeout_at(task, started_at),
            stop: lease.stop_reason.map(|reason| Stop { reason, give_up_at: started_at }),
            ended: !current,
            // What was asked last nobody knows any more: ask again.
            rest: (current && task.def.rests())
                .then(|| Rest { until: task.def.is_probe().then_some(Instant(i64::MIN)) }),
            polls: 0,
        }
    }
}

/// When an attempt of this task that starts now has used up its own time; 0 is no limit.
pub(super) fn timeout_at(task: &PlannedTask, start: Instant) -> Option<Instant> {
    task.def.policy.timeout_ms.filter(|ms| *ms > 0).map(|ms| start.plus_millis(ms))
}

/// How many task runs of a run are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally([u32; State::ALL.len()]);

impl Tally {
    pub fn of(&self, state: State) -> u32 {
        self.0[state as usize]
    }

    pub fn add(&mut self, state: State) {
        self.0[state as usize] += 1;
    }

    pub fn less(&mut self, state: State) {
        self.0[state as usize] -= 1;
    }

    pub fn change(&mut self, from: State, to: State) {
        self.less(from);
        self.add(to);
    }

    /// Whether something runs, may start or is tried again.
    pub fn is_active(&self) -> bool {
        self.sum(|state| matches!(state, State::Ready | State::Running | State::RetryWait)) > 0
    }

    pub(super) fn sum(&self, of: impl Fn(State) -> bool) -> u32 {
        State::ALL.iter().filter(|state| of(**state)).map(|state| self.of(*state)).sum()
    }

    /// Whether nothing is READY, RUNNING or in a delay, while something is BLOCKED: what is PENDING
    /// may be waiting for that alone.
    pub fn may_be_stuck(&self) -> bool {
        self.of(State::Blocked) > 0 && self.sum(State::can_move) == self.of(State::Pending)
    }

    /// The state of the run that these task runs make. `stuck`: what is PENDING waits for nothing
    /// but what is BLOCKED.
    pub fn run_state(&self, cancel_requested: bool, stuck: bool) -> RunState {
        if self.sum(State::can_move) > 0 && !stuck {
            RunState::Running
        } else if self.sum(|state| !matches!(state, State::Success | State::Skipped)) == 0 {
            RunState::Success
        } else if cancel_requested
            || self.of(State::Canceled) > 0 && self.of(State::Failed) + self.of(State::Timeout) == 0
        {
            RunState::Canceled
        } else {
            RunState::Failed
        }
    }
}
