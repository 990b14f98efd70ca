//! What one transaction writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::RunMove;
use crate::model::{
    AttemptEnd, AttemptStart, BackfillId, BackfillRow, BackfillRunRow, BackfillState, Date,
    Decided, Instant, Progress, RunId, RunRow, ScheduleId, ScopeLease, Skip, State, StopReason,
    TaskId, TaskRunId, TaskRunRow, Unfilled,
};

/// Everything that one commit writes; all of it or nothing.
#[derive(Clone, Debug)]
pub struct Batch {
    /// On whose behalf: refused when this is not the current epoch of the scope.
    pub lease: ScopeLease,
    /// When it was decided.
    pub now: Instant,
    /// New runs with their task runs, as they are at the end of the batch.
    pub created: Vec<CreatedRun>,
    /// Items of mapped tasks that are made, as they are at the end of the batch.
    pub items: Vec<TaskRunRow>,
    /// The ids that came next before the batch; refused when they are taken.
    pub expected: Option<NextIds>,
    /// Task runs that existed before, as they are at the end of the batch.
    pub progressed: Vec<Progressed>,
    /// Task runs to mark stale: an upstream was rerun after they had become final.
    pub stale: Vec<TaskRunId>,
    /// What other runs have made of something that is run again: those of a task for a business
    /// date that are final, but for those of the run itself, are marked stale.
    pub outdated: Vec<(TaskId, Date, RunId)>,
    /// Task runs that a start relies on: refused when one does not stand there any more.
    pub relies: Vec<(TaskRunId, State)>,
    /// Cells that somebody asks for: refused while a run of a backfill that is open has one of them.
    pub unfilled: Vec<Unfilled>,
    /// Attempts that begin: row and lease.
    pub starts: Vec<AttemptStart>,
    /// Attempts that end.
    pub ends: Vec<Ended>,
    /// Stops to note on leases.
    pub stops: Vec<(TaskRunId, StopReason)>,
    /// Task runs that are open beyond their deadline.
    pub overdue: Vec<PastDeadline>,
    /// Leases to drop whose attempt ended earlier.
    pub releases: Vec<TaskRunId>,
    /// Runs whose derived state changes.
    pub run_moves: Vec<RunMove>,
    /// How far schedules have come: refused when one is not where, or not what, it was.
    pub watermarks: Vec<Watermark>,
    /// Fires that make no run.
    pub skips: Vec<NewSkip>,
    /// Schedules that fired at the instant of a run that was there already.
    pub links: Vec<(RunId, ScheduleId)>,
    /// Schedules that are paused or go on.
    pub pauses: Vec<Pause>,
    /// Backfills that begin, with all of their places: refused when another has the id or a cell.
    pub backfills: Vec<BackfillRow>,
    /// What becomes of places of backfills: refused when one has a run already. A run of a backfill
    /// is refused when a cell of it is open in another run.
    pub filled: Vec<BackfillRunRow>,
    /// Backfills that stand otherwise: refused when one does not stand where it did.
    pub fill_moves: Vec<BackfillMoved>,
    /// Answers to requests: refused when one is decided already.
    pub answers: Vec<(i64, Decided)>,
    /// Packed journal entries, one a run.
    pub journal: Vec<(RunId, Vec<u8>)>,
}

impl Batch {
    /// A batch that writes nothing yet.
    pub fn new(lease: ScopeLease, now: Instant) -> Self {
        Batch {
            lease,
            now,
            created: Vec::new(),
            items: Vec::new(),
            expected: None,
            progressed: Vec::new(),
            stale: Vec::new(),
            outdated: Vec::new(),
            relies: Vec::new(),
            unfilled: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            stops: Vec::new(),
            overdue: Vec::new(),
            releases: Vec::new(),
            run_moves: Vec::new(),
            watermarks: Vec::new(),
            skips: Vec::new(),
            links: Vec::new(),
            pauses: Vec::new(),
            backfills: Vec::new(),
            filled: Vec::new(),
            fill_moves: Vec::new(),
            answers: Vec::new(),
            journal: Vec::new(),
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.items.is_empty()
            && self.progressed.is_empty()
            && self.stale.is_empty()
            && self.outdated.is_empty()
            && self.starts.is_empty()
            && self.ends.is_empty()
            && self.stops.is_empty()
            && self.overdue.is_empty()
            && self.releases.is_empty()
            && self.run_moves.is_empty()
            && self.watermarks.is_empty()
            && self.skips.is_empty()
            && self.links.is_empty()
            && self.pauses.is_empty()
            && self.backfills.is_empty()
            && self.filled.is_empty()
            && self.fill_moves.is_empty()
            && self.answers.is_empty()
            && self.journal.is_empty()
    }

    /// Whether it records skips and nothing else that a second commit of it would be refused for:
    /// neither ids, revisions and attempts, nor how far their schedules have come.
    pub fn only_adds(&self) -> bool {
        let moves = |schedule| self.watermarks.iter().any(|to| to.schedule == schedule);
        self.created.is_empty()
            && self.items.is_empty()
            && self.progressed.is_empty()
            && self.starts.is_empty()
            && self.ends.is_empty()
            && self.skips.iter().any(|skip| !moves(skip.skip.schedule))
            && self.watermarks.is_empty()
    }

    /// The ids that must be next for `created` to be right.
    pub(super) fn expected_ids(&self) -> Option<NextIds> {
        if self.expected.is_some() {
            return self.expected;
        }
        let first = &self.created.first()?.row;
        Some(NextIds { run: first.id.0, task_run: first.first_task_run_id.0 })
    }
}

/// The event of the outbox that tells of a deadline.
pub(super) const DEADLINE_EVENT: &str = "deadline";

/// What the attempts that begin take of each limit, and how many slots that has where their
/// definition says so.
pub(super) fn claimed(starts: &[AttemptStart]) -> BTreeMap<&str, (u32, Option<u32>)> {
    let mut claimed: BTreeMap<&str, (u32, Option<u32>)> = BTreeMap::new();
    for claim in starts.iter().flat_map(|start| &start.limits) {
        let (mine, most) = claimed.entry(&claim.limit).or_default();
        *mine = mine.saturating_add(claim.slots);
        // Of two versions of a task the stricter one holds.
        *most = [*most, claim.most].into_iter().flatten().min();
    }
    claimed
}

/// The order in which a batch touches attempts and leases. An end frees the lease that the next
/// attempt of the same task run takes, so ends come first; but an attempt that begins and ends in
/// one batch has to begin before it ends.
pub(super) struct Order<'a> {
    batch: &'a Batch,
    begun: BTreeSet<(TaskRunId, u32)>,
}

impl<'a> Order<'a> {
    pub(super) fn of(batch: &'a Batch) -> Self {
        let begun = if batch.ends.is_empty() {
            BTreeSet::new()
        } else {
            batch.starts.iter().map(|start| (start.task_run_id, start.attempt_no)).collect()
        };
        Order { batch, begun }
    }

    fn begins_here(&self, end: &AttemptEnd) -> bool {
        self.begun.contains(&(end.task_run_id, end.attempt_no))
    }

    /// Ends of attempts that began earlier.
    pub(super) fn ends_before(&self) -> impl Iterator<Item = &'a Ended> {
        self.batch.ends.iter().filter(|ended| !self.begins_here(&ended.end))
    }

    /// Ends of attempts that begin in this batch.
    pub(super) fn ends_after(&self) -> impl Iterator<Item = &'a Ended> {
        self.batch.ends.iter().filter(|ended| self.begins_here(&ended.end))
    }

    fn is_released_after(&self, id: TaskRunId) -> bool {
        self.ends_after().any(|ended| ended.end.task_run_id == id)
    }

    /// Leases to drop before attempts begin.
    pub(super) fn releases_before(&self) -> impl Iterator<Item = TaskRunId> {
        self.batch.releases.iter().copied().filter(|id| !self.is_released_after(*id))
    }

    /// Leases to drop after attempts began and ended.
    pub(super) fn releases_after(&self) -> impl Iterator<Item = TaskRunId> {
        self.batch.releases.iter().copied().filter(|id| self.is_released_after(*id))
    }
}

/// A new run.
#[derive(Clone, Debug)]
pub struct CreatedRun {
    /// Its row, as it is at the end of the batch.
    pub row: RunRow,
    /// Its task runs in the order of their ids.
    pub task_runs: Vec<TaskRunRow>,
    /// The schedules it comes from.
    pub schedules: Vec<ScheduleId>,
}

/// How far a schedule has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// Which.
    pub schedule: ScheduleId,
    /// Where it was.
    pub from: Instant,
    /// Where it is: later.
    pub to: Instant,
    /// When it had last changed as this was decided. Refused if it has changed since: what fires,
    /// and by which rule, may be something else by now.
    pub changed_at: Instant,
}

/// Fires that make no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSkip {
    /// What is recorded.
    pub skip: Skip,
    /// Whether it goes on with the record of the same reason that ends at the fire before: that is
    /// made longer, and no new one is made.
    pub joins: bool,
}

/// A schedule that is paused, or goes on: its period ends here and one of the other kind begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Which.
    pub schedule: ScheduleId,
    /// Whether it is paused from now on.
    pub paused: bool,
    /// From when.
    pub at: Instant,
}

/// A task run that is open beyond its deadline: noted with it, and put into the outbox, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastDeadline {
    /// Which.
    pub id: TaskRunId,
    /// Its run.
    pub run: RunId,
    /// Its deadline.
    pub deadline_at: Instant,
    /// When it was seen to have passed.
    pub when: Instant,
    /// Whether it is canceled for that.
    pub canceled: bool,
}

/// A task run that changes.
#[derive(Clone, Debug)]
pub struct Progressed {
    /// Which.
    pub id: TaskRunId,
    /// Its revision before the batch; the commit is refused when it is another by now.
    pub expected_revision: u32,
    /// What it is at the end of the batch.
    pub progress: Progress,
}

/// An attempt that ends.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What is written into its row. Refused unless number and token are current and it is open.
    pub end: AttemptEnd,
    /// Whether its lease is dropped; if not its thread still runs and keeps the slot.
    pub released: bool,
}

/// A backfill that stands otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillMoved {
    /// Which.
    pub id: BackfillId,
    /// Where it stood.
    pub from: BackfillState,
    /// Where it stands.
    pub to: BackfillState,
    /// When it ended, if it did.
    pub finished_at: Option<Instant>,
    /// Whether somebody gave it up.
    pub cancel_requested: bool,
}

/// Ids that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// Of a run.
    pub run: i64,
    /// Of a task run.
    pub task_run: i64,
}
