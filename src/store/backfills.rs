//! What is stored of backfills: the plan, which never changes, and what became of each of its runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{CommitError, StoreError};
use crate::model::{
    BackfillId, BackfillPlan, BackfillRow, BackfillRunRow, BackfillState, Date, Instant, RunId,
    RunState, ScopeId, ScopeLease, State, TaskId, TaskRunId,
};

/// A backfill with all that is needed to go on with it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBackfill {
    /// Its row.
    pub row: BackfillRow,
    /// Its places in order, each with where its run stands.
    pub places: Vec<(BackfillRunRow, Option<RunState>)>,
}

/// A backfill in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillSummary {
    /// Its id.
    pub id: BackfillId,
    /// The dag that was asked for.
    pub dag: String,
    /// First business date.
    pub from: Date,
    /// Last business date.
    pub to: Date,
    /// Where it stands.
    pub state: BackfillState,
    /// Whether somebody gave it up.
    pub cancel_requested: bool,
    /// Who asked for it, if somebody did.
    pub requested_by: Option<String>,
    /// When it was applied.
    pub created_at: Instant,
    /// When it became final.
    pub finished_at: Option<Instant>,
    /// Who decides for it.
    pub scope_id: ScopeId,
    /// How many of its runs are in each state; what has no run counts under its note, and under
    /// nothing where it is still to be made.
    pub runs: BTreeMap<String, u32>,
}

/// A cell of a backfill whose run was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillCell {
    /// The place of its run.
    pub ordinal: u32,
    /// Its task run.
    pub task_run: TaskRunId,
    /// Its task.
    pub task: TaskId,
    /// Where it stands.
    pub state: State,
    /// Its code.
    pub code: Option<String>,
}

/// What keeps a plan from being applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InTheWay {
    /// It was applied already.
    Applied(BackfillId),
    /// An open backfill has one of its cells.
    Overlaps {
        /// Which.
        backfill: BackfillId,
        /// `dag.task` of the cell.
        task: String,
        /// Its business date.
        biz_date: Date,
    },
}

/// What is asked of a store about backfills. They are written by batches.
pub trait BackfillStore {
    /// The id that the next backfill will have if nobody else begins one first.
    fn next_backfill(&mut self) -> Result<BackfillId, StoreError>;

    /// A backfill with all that is needed to go on with it.
    fn backfill(&mut self, id: BackfillId) -> Result<Option<StoredBackfill>, StoreError>;

    /// All backfills, newest first.
    fn backfills(&mut self) -> Result<Vec<BackfillSummary>, StoreError>;

    /// The cells of a backfill whose runs were made, in the order of its plan.
    fn backfill_cells(&mut self, id: BackfillId) -> Result<Vec<BackfillCell>, StoreError>;

    /// The open backfills of a scope, oldest first.
    fn open_backfills(&mut self, scope: ScopeId) -> Result<Vec<BackfillId>, StoreError>;

    /// The cells that open backfills have: those whose runs are to be made or are open.
    fn held_cells(&mut self) -> Result<BTreeMap<(TaskId, Instant), BackfillId>, StoreError>;

    /// The fingerprint of the newest success of a cell before one of its task runs.
    fn earlier_fingerprint(&mut self, of: TaskRunId) -> Result<Option<String>, StoreError>;

    /// What keeps a plan from being applied, if anything does.
    fn in_the_way(&mut self, plan: &BackfillPlan) -> Result<Option<InTheWay>, StoreError>;

    /// Moves a backfill with its runs from the scope of a process that is gone to the scope of
    /// `lease`, and fences off the old one. Given back are those of its runs that are open.
    ///
    /// # Errors
    /// `CommitError::Conflict` when the backfill is not in `from` any more.
    fn take_over_backfill(
        &mut self,
        id: BackfillId,
        from: ScopeId,
        lease: ScopeLease,
    ) -> Result<(), CommitError>;
}

/// The cells of a plan, or of some of its places: the nominal time and the index of the task.
fn cells<'p>(
    plan: &'p BackfillPlan,
    places: impl Iterator<Item = u32> + 'p,
) -> impl Iterator<Item = (Instant, u32, Date)> + 'p {
    let runs = places.filter_map(|ordinal| plan.runs.get(ordinal as usize));
    runs.flat_map(|run| {
        let tasks = plan.sets.get(run.set as usize).map_or(&[][..], |set| &set.tasks);
        tasks.iter().map(|task| (run.nominal_at, *task, run.biz_date))
    })
}

/// The cells that a backfill has: those whose runs are to be made or are open.
pub(super) fn held(known: &StoredBackfill) -> impl Iterator<Item = (TaskId, Instant)> + '_ {
    let plan = &known.row.plan;
    let mine = known.places.iter().filter(|(place, state)| match place.run_id {
        None => place.note.is_none() && known.row.finished_at.is_none(),
        Some(_) => *state == Some(RunState::Running),
    });
    let of_task = |task: u32| plan.tasks.get(task as usize).map(|task| task.task_id);
    cells(plan, mine.map(|(place, _)| place.ordinal))
        .filter_map(move |(at, task, _)| Some((of_task(task)?, at)))
}

/// The first cell of a plan that an open backfill has too: one of whose run is to be made or open.
pub(super) fn overlap(plan: &BackfillPlan, other: &StoredBackfill) -> Option<InTheWay> {
    let id = |task: u32| plan.tasks.get(task as usize).map(|task| task.task_id);
    let theirs: BTreeSet<(TaskId, Instant)> = held(other).collect();
    if theirs.is_empty() {
        return None;
    }
    let all = 0..plan.runs.len() as u32;
    let found = cells(plan, all)
        .find(|(at, task, _)| id(*task).is_some_and(|task| theirs.contains(&(task, *at))));
    found.map(|(_, task, biz_date)| InTheWay::Overlaps {
        backfill: other.row.id,
        task: plan
            .tasks
            .get(task as usize)
            .map(|task| format!("{}.{}", task.dag, task.name))
            .unwrap_or_default(),
        biz_date,
    })
}

/// A run of a backfill, for whoever proves that it is the one that was planned.
pub(super) struct MadeRun {
    pub id: RunId,
    pub backfill: BackfillId,
    pub dag: String,
    pub nominal_at: Instant,
    pub biz_date: Date,
    pub task_count: u32,
}
