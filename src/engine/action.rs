//! The closed list of what a decision may do: to the world, to the store, and after the commit.

use std::collections::BTreeSet;
use std::fmt;

use super::cell::{CellKey, Known};
use super::edges::Texts;
use super::patience::EdgeAt;
use crate::model::{
    AttemptEnd, AttemptStart, BackfillId, BackfillRow, BackfillState, Instant, Progress, RunId,
    RunRow, RunState, ScheduleId, Skip, SkipReason, State, StopReason, TaskRunId, Token, Unfilled,
};

/// A task run by its place: the run, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskRunRef {
    /// The run.
    pub run: RunId,
    /// Index in the run: that of its task in the plan, or, beyond these, that of an item.
    pub index: u32,
}

/// What is to happen. Moves, creates and ends are committed in one transaction; only then are the
/// effects performed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Runs to make, with all their task runs.
    pub creates: Vec<CreateRun>,
    /// Items of mapped tasks to make.
    pub items: Vec<NewItems>,
    /// Arrows to take, in this order.
    pub moves: Vec<Move>,
    /// Attempts that begin.
    pub starts: Vec<Start>,
    /// Attempts that begin to rest, or are asked again. Not stored.
    pub rests: Vec<Rests>,
    /// Attempts that end.
    pub ends: Vec<End>,
    /// Task runs of other deciders that a start relies on, and where they must still stand.
    pub relies: Vec<(TaskRunId, State)>,
    /// Cells that somebody asks for, and that no run of a backfill may be computing elsewhere.
    pub unfilled: Vec<Unfilled>,
    /// Stops to put on leases before the first signal.
    pub stops: Vec<LeaseStop>,
    /// Slots that come back although their attempt ended earlier.
    pub releases: Vec<TaskRunRef>,
    /// Runs whose derived state changes.
    pub run_moves: Vec<RunMove>,
    /// What to do after the commit.
    pub effects: Vec<Effect>,
    /// Pools to resize: name (none: the default pool) and slots.
    pub pools: Vec<(Option<String>, u32)>,
    /// Pools whose queue ages: how long a wait makes up for one class; none is strict order.
    pub ageing: Vec<(Option<String>, Option<i64>)>,
    /// Limits to resize; none is as its claims say.
    pub limits: Vec<(String, Option<u32>)>,
    /// Task runs that are open beyond their deadline. No arrow is taken for that alone.
    pub overdue: Vec<Overdue>,
    /// Reports that came too late or from the wrong attempt; journalled, nothing else.
    pub late: Vec<Late>,
    /// Final task runs to be marked as stale: an upstream is run again. No arrow is taken.
    pub stale: Vec<(TaskRunRef, TaskRunId)>,
    /// How far schedules come.
    pub schedules: Vec<ScheduleMove>,
    /// Backfills that begin, with all of their places.
    pub backfills: Vec<NewFilling>,
    /// What becomes of places of backfills.
    pub filled: Vec<FillPlace>,
    /// Backfills that stand otherwise.
    pub fill_moves: Vec<FillMove>,
    /// Backfills of which nothing starts here any more, or does again. Not stored.
    pub halts: Vec<(BackfillId, bool)>,
    /// What was read of runs that edges of other runs look at. Not stored.
    pub cells: Vec<(CellKey, Known)>,
    /// Edges that are waited for no longer. No row says so: whoever reads the run finds it again.
    pub waited: Vec<(TaskRunRef, EdgeAt)>,
    /// Output in files of attempts that end, where an edge looks at that. Not stored.
    pub texts: Vec<(TaskRunRef, Texts)>,
    /// From now on nothing starts here: an orderly shutdown. Not stored.
    pub interrupting: bool,
}

impl Decision {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Decision::default()
    }
}

/// A run to make. Ids are those the world expects to be next; the commit refuses them when
/// another process took them meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRun {
    /// The run's row.
    pub row: RunRow,
    /// What it is to do.
    pub plan: PlanRef,
    /// The schedules it comes from.
    pub schedules: Vec<ScheduleId>,
    /// Tasks that whoever asked for it left out.
    pub left_out: BTreeSet<u32>,
}

/// Items of a mapped task to make, at the places after those it has. Their ids are those the world
/// expects to be next.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItems {
    /// What stands for them all.
    pub of: TaskRunRef,
    /// Id of the first one; the others follow.
    pub first: TaskRunId,
    /// What each is given, as JSON text.
    pub items: Vec<std::sync::Arc<str>>,
    /// When.
    pub when: Instant,
}

/// How far a schedule comes: which of its fires are covered now, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleMove {
    /// Which.
    pub schedule: ScheduleId,
    /// Its watermark before.
    pub from: Instant,
    /// Its watermark: the same, or later.
    pub watermark: Instant,
    /// When it had last changed as this was decided: the store refuses what was decided of another.
    pub changed_at: Instant,
    /// Up to here it is decided which fires were missed. Not stored.
    pub judged: Instant,
    /// Fires after the first and up to the second are being caught up with. Not stored.
    pub catching_up: (Instant, Instant),
    /// Skips beyond the watermark.
    pub ahead: Vec<(Instant, Instant)>,
    /// Why the fire at the watermark was skipped, if it was.
    pub last_skip: Option<SkipReason>,
    /// Fires that make no run, and whether each goes on with the record before it.
    pub skips: Vec<(Skip, bool)>,
    /// Runs for its instant that were there already.
    pub links: Vec<RunId>,
    /// Whether its next fire has to wait for a run of its dag to end. Not stored.
    pub waiting: bool,
    /// Whether it is paused from now on.
    pub paused: Option<bool>,
    /// When this was decided.
    pub when: Instant,
}

/// A backfill that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFilling {
    /// Its row.
    pub row: BackfillRow,
    /// What the runs of each of its plan's sets are to do.
    pub plans: Vec<std::sync::Arc<super::Plan>>,
}

/// What becomes of a place of a backfill: its run is made, or none is for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillPlace {
    /// The backfill.
    pub backfill: BackfillId,
    /// The place.
    pub ordinal: u32,
    /// Its run, which is made with the same decision.
    pub run: Option<RunId>,
    /// Why there is none; with neither, one is to be made after all.
    pub note: Option<String>,
}

/// A backfill that stands otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillMove {
    /// Which.
    pub backfill: BackfillId,
    /// Where it stood.
    pub from: BackfillState,
    /// Where it stands.
    pub to: BackfillState,
    /// When it ended, if it did.
    pub finished_at: Option<Instant>,
    /// Whether somebody gave it up.
    pub cancel_requested: bool,
}

/// A shared plan inside a decision; two are equal when they are the same plan.
#[derive(Clone)]
pub struct PlanRef(pub std::sync::Arc<super::Plan>);

impl PartialEq for PlanRef {
    fn eq(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for PlanRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({}, {} tasks)", self.0.dag, self.0.tasks.len())
    }
}

/// One arrow taken by one task run.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// Which task run.
    pub at: TaskRunRef,
    /// Its id.
    pub id: TaskRunId,
    /// Where it stood.
    pub from: State,
    /// Everything that changes of it, its new state included.
    pub to: Progress,
    /// When.
    pub when: Instant,
}

/// An attempt that begins; its row and its lease are inserted.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Which task run.
    pub at: TaskRunRef,
    /// The attempt.
    pub attempt: AttemptStart,
    /// When its own time is over.
    pub timeout_at: Option<Instant>,
    /// How it rests from the start, if nothing runs for it.
    pub rest: Option<super::Rest>,
}

/// A live attempt that rests from now on, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rests {
    /// Which task run.
    pub at: TaskRunRef,
    /// How it rests; none where its check is called now.
    pub rest: Option<super::Rest>,
    /// How often its check has said no.
    pub polls: u32,
}

/// An attempt that ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Which task run.
    pub at: TaskRunRef,
    /// What to write into its row.
    pub end: AttemptEnd,
    /// False where its thread still runs: the lease stays, and the slot with it.
    pub released: bool,
}

/// A task run that is open beyond its deadline: noted with it once, and told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Which task run.
    pub at: TaskRunRef,
    /// Its id.
    pub id: TaskRunId,
    /// Its deadline.
    pub deadline_at: Instant,
    /// When it was seen to have passed.
    pub when: Instant,
    /// Whether it is canceled for that.
    pub cancels: bool,
}

/// A stop to note on the lease of a live attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseStop {
    /// Which task run.
    pub at: TaskRunRef,
    /// Its id.
    pub id: TaskRunId,
    /// Why and until when.
    pub stop: super::Stop,
}

/// A run whose derived state changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMove {
    /// The run.
    pub run: RunId,
    /// Where it stood.
    pub from: RunState,
    /// Where it stands.
    pub to: RunState,
    /// When it ended; none while it can move.
    pub finished_at: Option<Instant>,
    /// Whether all of it was asked to stop; kept with the run.
    pub cancel_requested: bool,
}

/// What to do after the commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Hand this attempt to its executor.
    Start(TaskRunRef, AttemptStart),
    /// Call the check of this probe again.
    Poll(TaskRunRef, AttemptStart),
    /// Ask this attempt to stop.
    Stop {
        /// Which task run.
        at: TaskRunRef,
        /// Which attempt.
        attempt_no: u32,
        /// Its token.
        token: Token,
        /// Why.
        reason: StopReason,
        /// How long it may take.
        grace_ms: i64,
    },
    /// Tell whoever waits that this run cannot move any more.
    RunEnded(RunId),
}

/// A report that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// Which task run.
    pub at: TaskRunRef,
    /// The attempt it claims to be.
    pub attempt_no: u32,
    /// Its token.
    pub token: Token,
    /// What it said.
    pub outcome: crate::model::Outcome,
    /// When it arrived.
    pub when: Instant,
}
