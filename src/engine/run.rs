//! A run in the world: its task runs with what is derived from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell::{Cells, Votes};
use super::edges::{Counts, EdgeRule, Standing, Texts, edge_verdict};
use super::{Plan, PlannedTask, Stop};
use crate::model::{
    EdgeKind, Instant, LeaseRow, NodeId, Progress, RunRow, RunState, State, TaskRunId, TaskRunRow,
    Token,
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
    pub(super) task_runs: Vec<TaskRun>,
    pub(super) tally: Tally,
    /// Whether the world counts it among the active ones of its dag.
    pub(super) counted: bool,
}

/// A task run: where it stands, its live attempt, and how many of its edges do not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// Its id.
    pub id: TaskRunId,
    /// Where it stands.
    pub progress: Progress,
    /// The lease that it holds, if it does.
    pub live: Option<Live>,
    pub(super) counts: Counts,
    /// What the runs say that each edge to other runs looks at.
    pub(super) votes: Vec<Votes>,
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
}

impl Run {
    /// A run that was just made: everything PENDING.
    pub(super) fn new(row: RunRow, plan: Arc<Plan>, cells: &Cells) -> Run {
        let task_runs = (0..row.task_count)
            .zip(&plan.tasks)
            .map(|(index, task)| TaskRun {
                id: row.first_task_run_id.offset(index),
                progress: task.first_progress(&row),
                live: None,
                counts: Counts::default(),
                votes: Vec::new(),
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
        let tally = Tally::default();
        let mut run = Run { row, cancel_requested, plan, task_runs, tally, counted: false };
        for index in 0..run.task_runs.len() as u32 {
            let mut counts = Counts::default();
            for (upstream, rule) in run.plan.upstream(index) {
                if let Some(task_run) = run.get(upstream) {
                    counts.add(rule.kind, edge_verdict(rule, task_run.standing()));
                }
            }
            let votes = cells.votes(&run, index);
            for (edge, votes) in run.plan.across(index).iter().zip(&votes) {
                counts.add_outside(edge.rule.kind, votes.verdict());
            }
            if let Some(task_run) = run.task_runs.get_mut(index as usize) {
                task_run.counts = counts;
                task_run.votes = votes;
                run.tally.add(task_run.progress.state);
            }
        }
        run
    }

    /// A task run by its index in the plan; like a slice, only for indexes there are.
    pub fn task_run(&self, index: u32) -> &TaskRun {
        &self.task_runs[index as usize]
    }

    /// The same for an index that may not exist.
    pub fn get(&self, index: u32) -> Option<&TaskRun> {
        self.task_runs.get(index as usize)
    }

    /// All its task runs, in the order of the plan.
    pub fn task_runs(&self) -> &[TaskRun] {
        &self.task_runs
    }

    /// How many of its task runs are in this state.
    pub fn count(&self, state: State) -> u32 {
        self.tally.of(state)
    }

    /// The index of the task run with this id, if it is of this run.
    pub fn index_of(&self, id: TaskRunId) -> Option<u32> {
        let index = u32::try_from(id.0.checked_sub(self.row.first_task_run_id.0)?).ok()?;
        (index < self.row.task_count).then_some(index)
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

    /// The task at an index.
    pub(super) fn task(&self, index: u32) -> Option<&PlannedTask> {
        self.plan.tasks.get(index as usize)
    }
}

impl TaskRun {
    /// What edges see of it.
    pub fn standing(&self) -> Standing<'_> {
        Standing::of(&self.progress, self.texts.as_deref())
    }
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
                map_index: 0,
                nominal_at: run.nominal_at,
                biz_date: run.biz_date,
                created_at: run.created_at,
                progress: task.first_progress(run),
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

    pub fn change(&mut self, from: State, to: State) {
        self.0[from as usize] -= 1;
        self.0[to as usize] += 1;
    }

    /// Whether something runs, may start or is tried again.
    pub fn is_active(&self) -> bool {
        self.sum(|state| matches!(state, State::Ready | State::Running | State::RetryWait)) > 0
    }

    fn sum(&self, of: impl Fn(State) -> bool) -> u32 {
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
