//! What an author defined, checked and resolved: dags, tasks, edges and schedules.
//!
//! These are the forms that are stored (as immutable versions) and that the engine reads. The
//! form an author writes, with its shorthands, is in `spec`; only `spec` makes these.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::words;
use super::{
    BizOffset, Deadline, Mapping, NotBefore, OnDeadline, Param, RunOn, ScheduleDef, TaskId,
};

/// What stands before the name of an asset in the upstream of an edge. No task has such a name.
pub const ASSET: char = '@';

/// A named group of tasks whose runs belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DagDef {
    /// Stable name; see `key::check_name`.
    pub key: String,
    /// Text to show instead of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// Who answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Words to find it by: `key` or `key=value`, sorted, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// IANA zone of its dates where no schedule says otherwise; never empty.
    pub timezone: String,
    /// How business dates follow from nominal dates, where no schedule says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub biz_offset: Option<BizOffset>,
    /// How many of its runs may be live at once.
    pub max_active_runs: u32,
    /// The file it was read from, as the author would name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// When it fires; each bound to the whole dag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ScheduleDef>,
    /// Its tasks, in the order the author wrote them.
    pub tasks: Vec<TaskDef>,
}

/// One task, as one immutable version has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDef {
    /// Name inside its dag.
    pub name: String,
    /// What runs: `python`, `noop`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// `package.module:function`, or how the author's process finds the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// Who answers for it; resolved from the dag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The assets that are ready for a business date when it has succeeded for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub produces: Vec<String>,
    /// Its category, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The asset it writes; several tasks on one asset differ by `resource_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Separates several tasks on one resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_key: Option<String>,
    /// How the type runs (SQL text, URL, image); the type's own schema.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, Value>,
    /// Static values given to the handler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// Typed parameters whose values come with the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub param_schema: Vec<Param>,
    /// Handler arguments that are results of upstream tasks: argument name to task name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// Handler arguments that the run fills by itself (`biz_date`, `ctx`, ...).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// That it is run once for each item of something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Mapping>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// How it is retried, stopped and queued.
    pub policy: TaskPolicy,
    /// Where the fingerprint of its output comes from, unless its handler says one by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// How often the check of a probe is called, in milliseconds; none for other types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_ms: Option<i64>,
    /// The version the author wrote, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authored_version: Option<u32>,
    /// Fingerprint of the handler's source, so that changed code is a new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_hash: Option<String>,
    /// Where the handler is defined: `file:line`. Not part of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The author's own data; never read by the core.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ext: BTreeMap<String, Value>,
}

/// The type of a task that asks again and again whether something is ready.
pub const PROBE: &str = "probe";
/// The type of a task that waits for a person's word.
pub const GATE: &str = "gate";

impl TaskDef {
    /// Whether its handler is a check that is called until it says yes.
    pub fn is_probe(&self) -> bool {
        self.kind == PROBE
    }

    /// Whether it waits for a person's word.
    pub fn is_gate(&self) -> bool {
        self.kind == GATE
    }

    /// Whether its attempts rest most of the time: nothing runs and nothing is held meanwhile, and
    /// the end of a process is not theirs.
    pub fn rests(&self) -> bool {
        self.is_probe() || self.is_gate()
    }

    /// How many slots an attempt takes.
    pub fn slots(&self) -> u32 {
        if self.rests() { 0 } else { self.policy.slots }
    }
}

words! {
    /// When an edge holds.
    pub enum EdgeKind {
        /// The upstream is SUCCESS.
        Success = "SUCCESS", 0;
        /// The upstream is final, whatever the outcome.
        Completed = "COMPLETED", 1;
        /// The upstream is SUCCESS and its output matches a pattern.
        OutputMatch = "OUTPUT_MATCH", 2;
        /// The upstream is SUCCESS and its asset is declared ready.
        DataReady = "DATA_READY", 3;
        /// Always: lineage only.
        Weak = "WEAK", 4;
    }
}

words! {
    /// What an offset counts in.
    pub enum OffsetUnit {
        /// Calendar days.
        Day = "day", 0;
        /// Weeks.
        Week = "week", 1;
        /// Calendar months.
        Month = "month", 2;
        /// Fires of the upstream.
        Slot = "slot", 3;
    }
}

words! {
    /// Which of several upstream runs of a period count.
    pub enum Which {
        /// Every one.
        All = "all", 0;
        /// The last one.
        Last = "last", 1;
        /// At least one.
        Any = "any", 2;
    }
}

words! {
    /// Which output of the upstream an OUTPUT_MATCH edge looks at.
    #[derive(Default)]
    pub enum MatchOn {
        /// The returned value as JSON text.
        #[default]
        Result = "result", 0;
        /// What was printed, the first mebibyte of it.
        Stdout = "stdout", 1;
    }
}

words! {
    /// Where the fingerprint of what a task puts out comes from.
    pub enum Fingerprint {
        /// It is computed from the text of its result.
        Result = "result", 0;
        /// A function that is given the result says it, where the handler runs.
        Callable = "callable", 1;
    }
}

words! {
    /// What an edge makes of an upstream that is SKIPPED.
    pub enum OnSkip {
        /// It holds.
        Satisfied = "satisfied", 0;
        /// The dependent is skipped too.
        Skip = "skip", 1;
        /// The dependent is BLOCKED.
        Block = "block", 2;
    }
}

/// An edge of a task version. Negative offsets are earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// Full key of the upstream: `dag.task`.
    pub upstream: String,
    /// When it holds.
    pub kind: EdgeKind,
    /// First period looked at, relative to the dependent's business date.
    #[serde(default)]
    pub offset_from: i32,
    /// Last period looked at.
    #[serde(default)]
    pub offset_to: i32,
    /// Unit of both.
    pub offset_unit: OffsetUnit,
    /// Which of several upstream runs count.
    pub which: Which,
    /// Pattern of an OUTPUT_MATCH edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Which output that looks at.
    #[serde(default, skip_serializing_if = "is_result")]
    pub match_on: MatchOn,
    /// What a skipped upstream means; none is the rule of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_skip: Option<OnSkip>,
    /// Whether the asset comes from elsewhere: no task of ours makes it ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// How long a COMPLETED edge waits, in milliseconds; after that it holds without its upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_up_to_ms: Option<i64>,
}

fn is_result(on: &MatchOn) -> bool {
    *on == MatchOn::Result
}

impl Dependency {
    /// A plain edge: `upstream` of the same run must succeed.
    pub fn on_success(upstream: impl Into<String>) -> Self {
        Dependency {
            upstream: upstream.into(),
            kind: EdgeKind::Success,
            offset_from: 0,
            offset_to: 0,
            offset_unit: OffsetUnit::Day,
            which: Which::All,
            pattern: None,
            match_on: MatchOn::Result,
            on_skip: None,
            external: false,
            wait_up_to_ms: None,
        }
    }

    /// Whether it looks at the run's own period and no other.
    pub fn is_here(&self) -> bool {
        (self.offset_from, self.offset_to, self.offset_unit) == (0, 0, OffsetUnit::Day)
    }

    /// The asset that it waits for, where it names no task.
    pub fn asset(&self) -> Option<&str> {
        self.upstream.strip_prefix(ASSET)
    }

    /// Whether it takes part in the cycle check: WEAK edges and edges to an earlier period do not.
    pub fn can_close_a_cycle(&self) -> bool {
        self.kind != EdgeKind::Weak && self.offset_to >= 0
    }
}

words! {
    /// How the delay between attempts grows.
    pub enum Backoff {
        /// The same delay each time.
        Fixed = "FIXED", 0;
        /// interval * 2^(n-1), capped.
        Exponential = "EXPONENTIAL", 1;
    }
}

/// How a task is retried, stopped and queued. All durations are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskPolicy {
    /// Attempts in all, the first included; none is the default of the trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How many attempts may be lost with their worker; the last of them ends the task run.
    pub max_losses: u32,
    /// Delay after the first failed attempt.
    pub retry_interval_ms: i64,
    /// How the delay grows.
    pub retry_backoff: Backoff,
    /// The longest delay.
    pub retry_cap_ms: i64,
    /// Part of the delay, in thousandths, by which it is spread deterministically.
    #[serde(default)]
    pub retry_jitter_permille: u32,
    /// Codes that are retried; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_on: Option<Vec<String>>,
    /// Limit of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Time between asking an attempt to stop and doing what comes next.
    pub grace_ms: i64,
    /// Whether it may be started again without asking.
    pub idempotent: bool,
    /// Template of the key by which the target recognises a repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<String>,
    /// 0 first to 9 last.
    pub priority: u8,
    /// Whether a higher class may take its slot.
    #[serde(default)]
    pub preemptible: bool,
    /// The pool whose slots it uses; none is the default pool of its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// How many slots it takes.
    pub slots: u32,
    /// The time of day before which runs that make themselves do not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<NotBefore>,
    /// The days on which it runs; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_on: Option<RunOn>,
    /// How many attempts of the task may be live at once, over all its runs; none is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active: Option<u32>,
    /// The named limits whose slots it uses besides, and how many of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u32>,
    /// Until when it is to be finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// What is done where it is not.
    #[serde(default, skip_serializing_if = "OnDeadline::is_default")]
    pub on_deadline: OnDeadline,
    /// How long it may be BLOCKED before it is given up as FAILED; none is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_timeout_ms: Option<i64>,
}

/// What an attempt holds of a named number of slots besides its pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The limit: the name of one that dags share, or what [`task_limit`] makes of a task.
    pub limit: String,
    /// How many of its slots.
    pub slots: u32,
    /// How many slots it has, where the definition says so and not the table of limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}

/// The limit that stands for the `max_active` of a task. No name has a colon, so it is nobody's.
pub fn task_limit(task: TaskId) -> String {
    format!("task:{task}")
}

impl TaskPolicy {
    /// Attempts in all for a run of this trigger: an author at the keyboard sees a failure at
    /// once, elsewhere the default is three retries; never more than one unasked where a repeat
    /// may do harm.
    pub fn attempts_for(&self, interactive: bool) -> u32 {
        match self.max_attempts {
            Some(n) => n,
            None if interactive || !self.idempotent => 1,
            None => 4,
        }
    }

    /// What an attempt of this task takes besides the slots of its pool, the narrowest first.
    pub fn claims(&self, task: TaskId) -> Vec<Claim> {
        let own = self.max_active.map(|most| Claim {
            limit: task_limit(task),
            slots: 1,
            most: Some(most),
        });
        let named = self.limits.iter();
        let named =
            named.map(|(limit, slots)| Claim { limit: limit.clone(), slots: *slots, most: None });
        own.into_iter().chain(named).collect()
    }

    /// Whether a higher class may stop it to have its slot.
    pub fn gives_way(&self) -> bool {
        self.preemptible && self.idempotent
    }
}

impl Default for TaskPolicy {
    fn default() -> Self {
        TaskPolicy {
            max_attempts: None,
            max_losses: 3,
            retry_interval_ms: 10_000,
            retry_backoff: Backoff::Exponential,
            retry_cap_ms: 3_600_000,
            retry_jitter_permille: 0,
            retry_on: None,
            timeout_ms: None,
            grace_ms: 5_000,
            idempotent: true,
            dedup_key: None,
            priority: 5,
            preemptible: false,
            pool: None,
            slots: 1,
            not_before: None,
            run_on: None,
            max_active: None,
            limits: BTreeMap::new(),
            deadline: None,
            on_deadline: OnDeadline::Alert,
            block_timeout_ms: None,
        }
    }
}
