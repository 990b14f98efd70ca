//! What became of a task at an instant, for whoever looks at very many of them.

use super::{Date, Instant, RunId, State, TaskVersionId};

/// The newest task run of a task at an instant, or an older one of the same instant: the larger
/// run id counts. Those that were left out of their run are no task runs here, nor are items of
/// mapped ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastCell {
    /// Copied from the run.
    pub nominal_at: Instant,
    /// Copied from the run.
    pub biz_date: Date,
    /// The run.
    pub run: RunId,
    /// The version that it used.
    pub version: TaskVersionId,
    /// Where it stands.
    pub state: State,
    /// Whether it is SKIPPED because its task was disabled.
    pub disabled: bool,
    /// Whether it is BLOCKED in a run of which others can still move.
    pub live: bool,
    /// Whether an upstream was rerun after it had become final.
    pub stale: bool,
    /// When it became final.
    pub finished_at: Option<Instant>,
    /// Counts its transitions.
    pub revision: u32,
}
