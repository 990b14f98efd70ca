//! A backfill: a plan of cells, and the runs that it makes.
//!
//! A plan is a value: it is computed from what is registered and remembered, shown, saved and hashed,
//! and then applied as it is. A cell is a task and a business date (and a nominal time, where a date
//! has several); a planned run is the cells of one dag and one nominal time that are computed
//! together, in one run that holds these tasks and no others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::words;
use super::{
    BackfillId, BackfillState, DagId, Date, Instant, RunId, ScopeId, TaskId, TaskVersionId,
};

words! {
    /// Which cells of its range a backfill computes.
    pub enum Only {
        /// Those that nobody has computed: without a task run, or with one that was canceled or
        /// BLOCKED before it began.
        Missing = "missing", 0;
        /// Those whose newest task run ended otherwise than well: FAILED, TIMEOUT, CANCELED, BLOCKED.
        Failed = "failed", 1;
        /// Those that succeeded with an older definition, or before an upstream of theirs did.
        Stale = "stale", 2;
        /// All of them.
        All = "all", 3;
    }
}

words! {
    /// In which order planned runs start, as far as their edges leave a choice.
    pub enum BackfillOrder {
        /// The oldest date first.
        Asc = "asc", 0;
        /// The newest date first.
        Desc = "desc", 1;
    }
}

words! {
    /// What a backfill does when one of its runs has failed.
    pub enum OnFailure {
        /// The others go on; what depends on the failed one is BLOCKED.
        Continue = "continue", 0;
        /// Nothing more of it starts; what did not start is shown as such.
        Stop = "stop", 1;
    }
}

words! {
    /// Why a cell is in a plan, or is not.
    pub enum Why {
        /// In: no task run of it ever ended, and none is open.
        Missing = "missing", 0;
        /// In: its newest task run ended otherwise than well, or was skipped by a failure.
        Failed = "failed", 1;
        /// In: its definition is newer than what it was computed with.
        StaleVersion = "stale_version", 2;
        /// In: an upstream cell of it was computed later than itself.
        StaleUpstream = "stale_upstream", 3;
        /// In: whatever there is, it was asked for.
        Forced = "forced", 4;
        /// In: a cell that it depends on is computed by this plan.
        Downstream = "downstream", 5;
        /// In: a cell of this plan depends on it, and it is not there.
        Upstream = "upstream", 6;
        /// Out: it succeeded, or was skipped by its calendar.
        Succeeded = "succeeded", 16;
        /// Out: a task run of it is open.
        Running = "running", 17;
        /// Out: an open backfill has it.
        InBackfill = "in_backfill", 18;
        /// Out: its date is before the first date of its schedule.
        BeforeStart = "before_start", 19;
        /// Out: its schedule has no fire for this date.
        NotExpected = "not_expected", 20;
        /// Out: its fire is still to come.
        Future = "future", 21;
        /// Out: its task is disabled, and nobody forces it.
        Disabled = "disabled", 22;
        /// Out: it is not of the kind that `only` asks for, stale where failures are asked for.
        NotAsked = "not_asked", 23;
    }
}

impl Why {
    /// Whether a cell with this reason is computed.
    pub fn is_in(self) -> bool {
        self.code() < 16
    }

    /// The letter that stands for it in a grid.
    pub const fn letter(self) -> char {
        match self {
            Why::Missing => 'M',
            Why::Failed => 'F',
            Why::StaleVersion => 'V',
            Why::StaleUpstream => 'A',
            Why::Forced => 'X',
            Why::Downstream => 'D',
            Why::Upstream => 'H',
            Why::Succeeded => 'S',
            Why::Running => 'R',
            Why::InBackfill => 'G',
            Why::BeforeStart => '<',
            Why::NotExpected => '.',
            Why::Future => '>',
            Why::Disabled => 'Z',
            Why::NotAsked => '-',
        }
    }
}

/// What is asked for; the plan answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillAsk {
    /// The dag.
    pub dag: String,
    /// Only these of its tasks, by name; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<String>>,
    /// First business date.
    pub from: Date,
    /// Last business date, inclusive.
    pub to: Date,
    /// Which cells.
    pub only: Only,
    /// And those of these kinds too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Only>,
    /// In which order.
    pub order: BackfillOrder,
    /// At most so many of its runs are open at once.
    pub max_active: u32,
    /// Whether the cells that those depend on are computed where they are missing, failed or stale.
    pub upstream: bool,
    /// Whether the cells that depend on those are computed too, across dags.
    pub downstream: bool,
    /// What to do about a failure.
    pub on_failure: OnFailure,
    /// Values for the parameters of its runs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Whether what is disabled, or what `run_on` would skip, runs all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Whether downstream cells are left as they are where the fingerprints of what they depend on
    /// come out unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reprocess: bool,
    /// The least urgent class that its task runs are moved to: 0 to 9; theirs if that is less urgent.
    pub priority: u8,
    /// Of each pool, at most so many percent of the slots, rounded up, are held by it.
    pub share: u8,
}

impl BackfillAsk {
    /// Whether cells of a kind are asked for.
    pub fn asks(&self, only: Only) -> bool {
        let mut kinds = self.also.iter().chain([&self.only]);
        kinds.any(|each| *each == only || *each == Only::All)
    }
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillTask {
    /// Its dag.
    pub dag: String,
    /// Its name there.
    pub name: String,
    /// The task.
    pub task_id: TaskId,
    /// The version that is active.
    pub version_id: TaskVersionId,
    /// Whether consecutive dates of it are computed as one block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
}

/// A run that a backfill makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Which of the plan's sets of tasks it holds; all of one dag.
    pub set: u32,
    /// Runs of one group wait for each other's tasks, and are made together; groups are consecutive.
    pub group: u32,
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Its data interval.
    pub interval: (Instant, Instant),
}

/// The plan of a backfill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillPlan {
    /// What was asked for.
    pub ask: BackfillAsk,
    /// The tasks that its cells are of.
    pub tasks: Vec<BackfillTask>,
    /// Sets of tasks that are run together, as indexes of `tasks`: of one dag, ascending. With the
    /// zone in which the dates of such a run are reckoned, and the task where it is one with a
    /// schedule of its own.
    pub sets: Vec<TaskSet>,
    /// The runs, in the order in which they are made: a run is never before one that it waits for,
    /// unless they are of one group.
    pub runs: Vec<PlannedRun>,
    /// Hash of all that it was computed from: two plans with the same hash do the same. Hex.
    pub hash: String,
}

impl BackfillPlan {
    /// The dag of a planned run.
    pub fn dag_of(&self, run: &PlannedRun) -> &str {
        self.sets.get(run.set as usize).map_or("", |set| &set.dag)
    }

    /// One without any cells.
    pub fn nothing() -> BackfillPlan {
        let ask = BackfillAsk {
            dag: String::new(),
            tasks: None,
            from: Date(0),
            to: Date(0),
            only: Only::All,
            also: Vec::new(),
            order: BackfillOrder::Asc,
            max_active: 1,
            upstream: false,
            downstream: false,
            on_failure: OnFailure::Continue,
            params: Map::new(),
            force: false,
            reprocess: false,
            priority: 7,
            share: 50,
        };
        BackfillPlan {
            ask,
            tasks: Vec::new(),
            sets: Vec::new(),
            runs: Vec::new(),
            hash: String::new(),
        }
    }
}

/// Cells of a run that somebody asks for by hand, to make or to run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfilled {
    /// The run.
    pub run: RunId,
    /// Its dag.
    pub dag_id: DagId,
    /// Its nominal time.
    pub nominal_at: Instant,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// Tasks that are run together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSet {
    /// Their dag.
    pub dag: String,
    /// Indexes of the plan's tasks, ascending.
    pub tasks: Vec<u32>,
    /// Those of them that are good as they are but for what they depend on: where none of that comes
    /// out changed, they are not computed. Of a reprocess alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<u32>,
    /// IANA name of the zone.
    pub timezone: String,
    /// Whether it is a task with a schedule of its own, and not a part of its dag.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// A backfill as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillRow {
    /// Surrogate id; grows.
    pub id: BackfillId,
    /// Its plan, which never changes.
    pub plan: Arc<BackfillPlan>,
    /// Where it stands.
    pub state: BackfillState,
    /// Who asked for it, if somebody did.
    pub requested_by: Option<String>,
    /// When it was applied.
    pub created_at: Instant,
    /// When it became final.
    pub finished_at: Option<Instant>,
    /// Whether somebody gave it up: it is CANCELED when what was open of it has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// Who decides for it, and for the runs that it makes.
    pub scope_id: ScopeId,
}

/// Why no run was made for a place of a plan.
pub mod backfill_notes {
    /// A run of the backfill had failed before, or somebody gave it up.
    pub const NOT_STARTED: &str = "NOT_STARTED";
    /// One of its cells was open in another run when its turn came.
    pub const RUNNING: &str = crate::model::RunState::Running.as_str();
    /// No run can be made of its tasks and parameters.
    pub const REFUSED: &str = "REFUSED";
}

/// Where a planned run of a backfill stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillRunRow {
    /// Its backfill.
    pub backfill_id: BackfillId,
    /// Its place in the plan.
    pub ordinal: u32,
    /// The run, once it was made.
    pub run_id: Option<RunId>,
    /// Why no run was made or will be, if so: `NOT_STARTED` after a failure or a cancel, `RUNNING`
    /// where one of its cells was open when its turn came.
    pub note: Option<String>,
}
