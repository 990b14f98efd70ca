//! The closed list of what may happen to the world.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Plan;
use super::action::TaskRunRef;
use super::cell::{CellKey, Found, Known};
use super::edges::Texts;
use super::items::NoList;
use crate::model::{
    AttemptRecord, BackfillId, BackfillPlan, DagId, Date, Instant, Missed, NodeId, Outcome, RunId,
    RunRow, ScheduleId, Steer, StopReason, TaskId, Token, Trigger,
};

/// Something that happened, or that somebody asked for.
#[derive(Clone, Debug)]
pub enum Event {
    /// A run is to be made.
    CreateRun(NewRun),
    /// An attempt has ended, says its executor.
    AttemptEnded(Report),
    /// The thread or tree of an attempt whose end was already recorded is gone at last.
    AttemptReleased {
        /// Which task run.
        at: TaskRunRef,
        /// Which attempt.
        attempt_no: u32,
        /// Its token.
        token: Token,
    },
    /// The check of a probe was called, and said no.
    NotReady {
        /// Which task run.
        at: TaskRunRef,
        /// Which attempt.
        attempt_no: u32,
        /// Its token.
        token: Token,
    },
    /// A person's word at a gate.
    Approve(Word),
    /// Time has passed: timers may be due.
    Tick,
    /// A fire of this schedule is due: see `World::next_schedule_due`.
    ScheduleDue(ScheduleId),
    /// A schedule is paused, or goes on.
    Pause {
        /// Which.
        schedule: ScheduleId,
        /// Whether it is paused from now on.
        paused: bool,
        /// Which fires of a pause that ends here are run; none is none of them.
        missed: Option<Missed>,
    },
    /// What was read of runs that edges of other runs look at: see `World::unread_cells`.
    Read(Vec<(CellKey, Known)>),
    /// The upstream that a dag follows has ended for instants of which the dag has no run: runs of it
    /// with the task run that ended, in their order.
    Ended {
        /// The dag that follows.
        dag: DagId,
        /// The ends.
        ends: Vec<(RunRow, Found)>,
    },
    /// A task is enabled again: what it left out is run where somebody is blocked by that.
    Enabled(TaskId),
    /// The list of a mapped task was read, as `World::gathering` asked.
    Expand {
        /// What stands for its items.
        at: TaskRunRef,
        /// The items, each as JSON text, or why there are none.
        list: Result<Vec<Arc<str>>, NoList>,
    },
    /// The results of its items were put together, as `World::gathering` asked.
    Collect {
        /// What stands for its items.
        at: TaskRunRef,
        /// The list of them as JSON text.
        result: Option<Arc<str>>,
        /// The file that holds it, where it is large. Without both it is too large to be kept.
        result_uri: Option<String>,
        /// What their output can be told by, where each of them says so.
        fingerprint: Option<String>,
        /// Whether that is the one of the success before, as far as somebody looked.
        unchanged: bool,
        /// The beginning of it, where an edge looks for a pattern in what lies in a file.
        texts: Option<Box<Texts>>,
    },
    /// A plan is to be carried out.
    NewBackfill(NewBackfill),
    /// A backfill needs something: see `World::next_fill`.
    Fill(BackfillId),
    /// Somebody says what is to become of a backfill.
    Steer {
        /// Which.
        backfill: BackfillId,
        /// What.
        steer: Steer,
        /// How long live attempts may take where it is given up; none is each task's own grace.
        grace_ms: Option<i64>,
    },
    /// Slots may be free: start what is first in the queue.
    Dispatch,
    /// Stop a run, or some of its task runs, for good.
    Cancel {
        /// The run.
        run: RunId,
        /// Only these of its task runs; none is all, and the run with them.
        only: Option<Vec<u32>>,
        /// How long live attempts may take to end by themselves; none is each task's own grace.
        grace_ms: Option<i64>,
    },
    /// Nothing starts and nothing fires any more; what is live goes on.
    Drain,
    /// Stop all live attempts without harm to their budgets: an orderly shutdown.
    Interrupt {
        /// How long live attempts may take to end by themselves.
        grace_ms: i64,
    },
    /// Run again what is final.
    Rerun {
        /// The run.
        run: RunId,
        /// What of it.
        what: RerunWhat,
    },
    /// A node is gone with everything that ran on it.
    NodeLost {
        /// The node.
        node: NodeId,
    },
    /// A pool has this many slots from now on.
    PoolSized {
        /// The pool; none is the default pool of this node.
        pool: Option<String>,
        /// Its slots.
        slots: u32,
    },
    /// The queue of a pool ages from now on, or is in strict order.
    PoolAges {
        /// The pool; none is the default pool of this node.
        pool: Option<String>,
        /// For how long a wait makes up for one class; none is strict order.
        step_ms: Option<i64>,
    },
    /// A limit has this many slots from now on.
    LimitSized {
        /// The limit.
        limit: String,
        /// Its slots; none is as many as the definition of its task says.
        slots: Option<u32>,
    },
}

/// What of a run is to be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RerunWhat {
    /// Everything that did not succeed and was not skipped.
    Failed,
    /// These task runs.
    Only(Vec<u32>),
    /// These task runs and all that is downstream of them.
    WithDownstream(Vec<u32>),
}

/// A plan to be carried out.
#[derive(Clone, Debug)]
pub struct NewBackfill {
    /// The id that it will have.
    pub id: BackfillId,
    /// It.
    pub plan: Arc<BackfillPlan>,
    /// What the runs of each of its sets are to do.
    pub plans: Vec<Arc<Plan>>,
    /// Who asks.
    pub requested_by: Option<String>,
}

/// A run to be made.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// What it is to do.
    pub plan: Arc<Plan>,
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Its data interval.
    pub interval: (Instant, Instant),
    /// Zone in which its dates are reckoned.
    pub timezone: String,
    /// What makes it.
    pub trigger: Trigger,
    /// The task, where it is to run by itself.
    pub task: Option<TaskId>,
    /// Whether it occupies the unique key of its target and instant.
    pub timed: bool,
    /// What else that key holds; see `TimedKey`.
    pub variant: String,
    /// Whether an author is watching: no retries unless asked for.
    pub interactive: bool,
    /// Who asks.
    pub requested_by: Option<String>,
    /// Values of its parameters, checked.
    pub params: Map<String, Value>,
    /// The schedules it comes from.
    pub schedules: Vec<ScheduleId>,
    /// Only these tasks run; the others are SKIPPED from the start. None is all.
    pub only: Option<Vec<u32>>,
    /// Whether what is disabled, or what `run_on` would skip, runs all the same.
    pub force: bool,
}

/// A person's word at a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Which task run.
    pub at: TaskRunRef,
    /// Whether it is no.
    pub reject: bool,
    /// What else is said.
    pub note: Option<String>,
    /// Whose it is.
    pub by: Option<String>,
}

/// What an executor says of the end of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which task run.
    pub at: TaskRunRef,
    /// Which attempt.
    pub attempt_no: u32,
    /// Its token: a report without the current one changes nothing.
    pub token: Token,
    /// How it ended, as the executor saw it.
    pub outcome: Outcome,
    /// Its result as JSON text, if it succeeded with one.
    pub result: Option<Arc<str>>,
    /// Where a large result is.
    pub result_uri: Option<String>,
    /// What was seen of it.
    pub record: AttemptRecord,
    /// False where its thread still runs: its slot stays held until `AttemptReleased`.
    pub released: bool,
    /// The beginning of its output that is in files, where an edge looks at that.
    pub texts: Option<Box<Texts>>,
}

/// How a live attempt rests: nothing runs for it, and it holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When its check is called again; none where that is nobody's matter: a gate waits for a
    /// person, and in a process that ends nothing is asked any more.
    pub until: Option<Instant>,
}

/// A stop that was asked for and has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// When the attempt is given up if it has not ended by then.
    pub give_up_at: Instant,
}
