//! What the store remembers, one struct a table. All stores read and write these.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    BackfillId, Claim, DagId, Date, Instant, NodeId, Outcome, RunId, RunState, ScheduleId, ScopeId,
    State, StopReason, Target, TaskId, TaskRunId, TaskVersionId, TimedKey, Token, Trigger,
};

/// The code of an item that the list of its mapping does not have any more.
pub const REMOVED: &str = "REMOVED";

/// One firing of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Surrogate id; grows.
    pub id: RunId,
    /// The dag it is a run of.
    pub dag_id: DagId,
    /// Key of the dag, for people.
    pub dag: String,
    /// The task, where it is the run of one task by itself.
    pub task_id: Option<TaskId>,
    /// The instant it was meant for. Unique per dag for timed runs.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Start of its data interval.
    pub interval_start: Instant,
    /// End of its data interval.
    pub interval_end: Instant,
    /// Zone in which its dates are reckoned.
    pub timezone: String,
    /// What made it.
    pub trigger: Trigger,
    /// Whether it occupies the unique key (target, nominal_at, variant).
    pub timed: bool,
    /// Tells apart timed runs of one target and instant that were given different values; see
    /// `TimedKey`.
    pub variant: String,
    /// Whether retries default to none because an author is watching.
    pub interactive: bool,
    /// Who asked for it, if somebody did.
    pub requested_by: Option<String>,
    /// Values of its parameters, JSON text of an object.
    pub params: String,
    /// Derived from its task runs.
    pub state: RunState,
    /// When it was made.
    pub created_at: Instant,
    /// When its last task run ended; none while it can move.
    pub finished_at: Option<Instant>,
    /// Who decides for it.
    pub scope_id: ScopeId,
    /// Id of its first task run; those made with the run have consecutive ids.
    pub first_task_run_id: TaskRunId,
    /// How many task runs were made with it.
    pub task_count: u32,
    /// The schedule it came from, if one.
    pub schedule_id: Option<ScheduleId>,
    /// The backfill that made it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_id: Option<BackfillId>,
}

/// One task within a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRunRow {
    /// Surrogate id.
    pub id: TaskRunId,
    /// Its run.
    pub run_id: RunId,
    /// Its task.
    pub task_id: TaskId,
    /// The definition it uses.
    pub task_version_id: TaskVersionId,
    /// 0, 1, ... for the items of a mapped task, -1 for what stands for them all, and 0 where
    /// nothing is mapped.
    pub map_index: i32,
    /// Copied from the run.
    pub nominal_at: Instant,
    /// Copied from the run.
    pub biz_date: Date,
    /// When it was made.
    pub created_at: Instant,
    /// What changes while it lives.
    pub progress: Progress,
}

/// The part of a task run that changes; written whole at each change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Where it stands.
    pub state: State,
    /// Counts its transitions.
    pub revision: u32,
    /// When it first entered the queue; its place there ever after.
    pub first_ready_at: Option<Instant>,
    /// Start of its first attempt since the last rerun.
    pub started_at: Option<Instant>,
    /// When it became final.
    pub finished_at: Option<Instant>,
    /// Started attempts so far, across reruns.
    pub attempt_no: u32,
    /// `attempt_no` at the last rerun.
    pub rerun_base: u32,
    /// Failures and timeouts since the last rerun.
    pub errors_used: u32,
    /// Losses since the last rerun.
    pub losses_used: u32,
    /// Preemptions since the last rerun.
    pub preemptions_used: u32,
    /// Token of its newest attempt.
    pub token: Token,
    /// End of the delay before the next attempt.
    pub wake_at: Option<Instant>,
    /// The failed task run at the root of its being BLOCKED.
    pub blocked_by: Option<TaskRunId>,
    /// Why it is where it is, in a code: `EXIT_1`, `TIMEOUT`, `RESULT`, a class name.
    pub code: Option<String>,
    /// Its result as JSON text, up to 256 KiB.
    pub result: Option<std::sync::Arc<str>>,
    /// Where a larger result is.
    pub result_uri: Option<String>,
    /// What its output can be told by, if it succeeded and says so: two that are equal are of the
    /// same output.
    pub fingerprint: Option<String>,
    /// Whether that is the one of the success before, where a backfill asked whether it is.
    pub unchanged: bool,
    /// What it is given, as JSON text, where it is an item of a mapped task.
    pub item: Option<std::sync::Arc<str>>,
    /// An upstream was rerun after it had become final.
    pub stale: bool,
    /// Until when it is to be finished; reckoned once, when it is made.
    pub deadline_at: Option<Instant>,
    /// When it was seen to be open beyond that.
    pub overdue_at: Option<Instant>,
    /// When it is given up if it is BLOCKED until then.
    pub blocked_until: Option<Instant>,
}

impl Progress {
    /// Whether it is an item that the list of its mapping does not have any more.
    pub fn is_removed(&self) -> bool {
        self.item.is_some()
            && self.state == State::Canceled
            && self.code.as_deref() == Some(REMOVED)
    }
}

impl Default for Progress {
    /// A task run that was just made.
    fn default() -> Self {
        Progress {
            state: State::Pending,
            revision: 0,
            first_ready_at: None,
            started_at: None,
            finished_at: None,
            attempt_no: 0,
            rerun_base: 0,
            errors_used: 0,
            losses_used: 0,
            preemptions_used: 0,
            token: Token(0),
            wake_at: None,
            blocked_by: None,
            code: None,
            result: None,
            result_uri: None,
            fingerprint: None,
            unchanged: false,
            item: None,
            stale: false,
            deadline_at: None,
            overdue_at: None,
            blocked_until: None,
        }
    }
}

/// The beginning of an attempt; inserted before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptStart {
    /// Its task run.
    pub task_run_id: TaskRunId,
    /// 1, 2, ... without a gap, across reruns.
    pub attempt_no: u32,
    /// Its fencing token.
    pub token: Token,
    /// Copied from the run.
    pub nominal_at: Instant,
    /// The definition it uses.
    pub task_version_id: TaskVersionId,
    /// Where it runs.
    pub node_id: NodeId,
    /// When it was started.
    pub started_at: Instant,
    /// Slots it holds, and in which pool (none: the default pool of its node).
    pub slots: u32,
    /// The pool.
    pub pool: Option<String>,
    /// What it holds of limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Claim>,
}

/// The end of an attempt; written once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// Its task run.
    pub task_run_id: TaskRunId,
    /// Which attempt.
    pub attempt_no: u32,
    /// Its token; an end that does not carry the right one is refused.
    pub token: Token,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended.
    pub finished_at: Instant,
    /// Everything else that was seen of it.
    pub record: AttemptRecord,
}

/// What was seen of an attempt besides its outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Wall time by the monotonic clock.
    pub duration_ms: i64,
    /// Processor time of its thread or tree.
    pub cpu_ms: Option<i64>,
    /// Peak memory of its process, where it had one of its own.
    pub max_rss_kb: Option<i64>,
    /// Process id.
    pub pid: Option<i64>,
    /// Exit code of a process.
    pub exit_code: Option<i32>,
    /// Signal that ended a process.
    pub signal: Option<i32>,
    /// Code of its error, as `retry_on` names it.
    pub error_code: Option<String>,
    /// Class of the exception.
    pub error_type: Option<String>,
    /// What else `retry_on` may call the error: the names of the classes above its own, and of what
    /// the code is a case. Only of use when the end is judged, so it is not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_kinds: Vec<String>,
    /// Message of the exception.
    pub error: Option<String>,
    /// Traceback of the author's code.
    pub traceback: Option<String>,
    /// Where its output is.
    pub log_uri: Option<String>,
    /// The last lines of its output, up to 8 KiB.
    pub log_tail: Option<String>,
    /// What the placeholders of its task became, JSON text, secrets masked; none where there is
    /// nothing to be filled in.
    pub params: Option<String>,
    /// How often a probe was asked, as far as the process that saw its end knows.
    #[serde(default)]
    pub polls: Option<u32>,
    /// What the output can be told by. It is kept with the task run, so it is not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Whether that is the one of the success before, as far as somebody looked. Not stored here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

/// An attempt as it is read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRow {
    /// Surrogate id.
    pub id: i64,
    /// Its beginning. (`slots` and `pool` are known only while it is live, `limits`
    /// stand in its lease.)
    pub start: AttemptStart,
    /// Its outcome; none while it is live.
    pub outcome: Option<Outcome>,
    /// When it ended.
    pub finished_at: Option<Instant>,
    /// Everything else.
    pub record: AttemptRecord,
}

/// The lease of a live attempt: the slot it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// Its task run.
    pub task_run_id: TaskRunId,
    /// Which attempt.
    pub attempt_no: u32,
    /// Its token.
    pub token: Token,
    /// Who runs it; the node's heartbeat is the lease's.
    pub node_id: NodeId,
    /// The pool.
    pub pool: Option<String>,
    /// Slots held.
    pub slots: u32,
    /// What it holds of limits.
    pub limits: BTreeMap<String, u32>,
    /// A stop in progress, committed before the first signal.
    pub stop_reason: Option<StopReason>,
}

/// A scheduler or worker process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Surrogate id.
    pub id: NodeId,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: i64,
    /// `notebook`, `cli`, `scheduler`, `worker`.
    pub role: String,
    /// mainspring's version.
    pub version: String,
    /// When it came up.
    pub started_at: Instant,
    /// Its last sign of life.
    pub heartbeat_at: Instant,
    /// Until when it is believed to live.
    pub lease_until: Instant,
    /// When it left in good order.
    pub stopped_at: Option<Instant>,
}

/// What a decider may decide for, and by whom it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeLease {
    /// The scope.
    pub scope_id: ScopeId,
    /// Grows with every change of holder; every commit carries it.
    pub epoch: i64,
    /// The holder.
    pub node_id: NodeId,
}

impl AttemptStart {
    /// What it holds of each limit.
    pub fn held(&self) -> BTreeMap<String, u32> {
        self.limits.iter().map(|claim| (claim.limit.clone(), claim.slots)).collect()
    }
}

impl RunRow {
    /// Its unique key, if it occupies one.
    pub fn timed_key(&self) -> Option<TimedKey> {
        self.timed.then(|| TimedKey {
            target: Target { dag: self.dag_id, task: self.task_id },
            nominal_at: self.nominal_at,
            variant: self.variant.clone(),
        })
    }
}
