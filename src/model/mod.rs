//! GROUND: plain data. What a task, a run and an attempt are, and which words we use for them.

mod backfill;
mod condition;
mod date;
mod deadline;
mod definition;
pub mod duration;
mod hash;
mod ids;
mod instant;
pub mod journal;
mod json;
pub mod key;
mod mapping;
pub mod params;
mod past;
mod planned;
mod problem;
mod release;
mod request;
mod rows;
mod schedule;
pub mod spec;
mod state;
mod words;

pub use backfill::{
    BackfillAsk, BackfillOrder, BackfillPlan, BackfillRow, BackfillRunRow, BackfillTask, OnFailure,
    Only, PlannedRun, TaskSet, Unfilled, Why, backfill_notes,
};
pub use condition::{NotBefore, RunDays, RunOn};
pub use date::Date;
pub use deadline::{Deadline, OnDeadline};
pub use definition::{
    ASSET, Backoff, Claim, DagDef, Dependency, EdgeKind, Fingerprint, GATE, MatchOn, OffsetUnit,
    OnSkip, PROBE, TaskDef, TaskPolicy, Which, task_limit,
};
pub use hash::{content_hash, fingerprint_of};
pub use ids::{
    BackfillId, DagId, NodeId, RunId, ScheduleId, ScopeId, TaskId, TaskRunId, TaskVersionId, Token,
};
pub use instant::Instant;
pub use mapping::{MOST_ITEMS, Mapping, Over, SHARD_INDEX, SHARD_TOTAL};
pub use params::{Param, ParamType};
pub use past::PastCell;
pub use planned::{Column, Conflict, DiffCell, Estimate, Grid, PlanDiff, Planned, Row};
pub use problem::{Problem, SpecError};
pub use release::{ReleaseAsk, ReleaseKind, ReleaseRow, Share, VersionRow};
pub use request::{Ask, Decided, RequestRow, Steer};
pub use rows::{
    AttemptEnd, AttemptRecord, AttemptRow, AttemptStart, LeaseRow, NodeRow, Progress, REMOVED,
    RunRow, ScopeLease, TaskRunRow,
};
pub use schedule::{
    Binding, BizOffset, CalendarDef, Fold, Gap, MISSED_WINDOW_MS, Missed, OnClosed, Overlap,
    Period, PeriodKind, ScheduleDef, Skip, SkipReason, Target, TimeRule, TimedKey, variant,
};
pub use state::{ARROWS, BackfillState, Outcome, RunState, State, StopReason, Trigger};
pub use words::UnknownWord;
