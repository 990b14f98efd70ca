//! Durable memory: what is written is what a batch of decisions says, in one transaction.
//!
//! A store is synchronous and used by one thread at a time; each thread that needs one opens its
//! own. `memory` is the oracle that the others are compared with, by one conformance suite.

mod backfills;
mod batch;
mod definition;
mod error;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod history;
mod memory;
#[cfg(feature = "postgres")]
#[allow(clippy::duplicate_mod, reason = "what both dialects do is stamped for each")]
mod postgres;
mod query;
mod release;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
#[allow(clippy::duplicate_mod, reason = "what both dialects do is stamped for each")]
mod sqlite;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod stamp;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod texts;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use backfills::{BackfillCell, BackfillStore, BackfillSummary, InTheWay, StoredBackfill};
pub use batch::{
    BackfillMoved, Batch, CreatedRun, Ended, NewSkip, NextIds, PastDeadline, Pause, Progressed,
    Watermark,
};
pub use error::{Changed, CommitError, StoreError};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use history::{
    Column, HistoryAsk, HistoryCell, Kind, Level, Names, TakeCells, TakeHistory, known_words,
    read_history,
};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use query::{
    AttemptFilter, DependentEdge, EndsAsked, RunFilter, RunSummary, RunsAt, StoredRun, TaskRunView,
    UpstreamRun, UpstreamTask, Violation,
};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use sql::{OpenOptions, SqlStore, SqlValue, Table, is_server, migrate, open, shown};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};

use crate::model::{
    Ask, AttemptRow, DagDef, DagId, Date, Instant, NodeId, NodeRow, PastCell, Period, ReleaseAsk,
    ReleaseRow, RequestRow, RunId, RunRow, ScheduleDef, ScheduleId, ScopeId, ScopeLease, Share,
    Skip, SkipReason, Target, TaskDef, TaskId, TaskRunId, TaskVersionId, VersionRow,
};

/// A dag as it is registered: the active version of each of its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredDag {
    /// Its id.
    pub id: DagId,
    /// Its definition without tasks and schedules (those are below, with their ids).
    pub def: DagDef,
    /// Its tasks in the author's order.
    pub tasks: Vec<RegisteredTask>,
    /// Its schedules.
    pub schedules: Vec<(ScheduleId, ScheduleDef)>,
    /// Those of its tasks whose version somebody chose.
    pub held: Vec<Held>,
    /// Grows with every change; decides whether a cached copy is fresh.
    pub revision: i64,
    /// Whether it was removed: no file defines it any more.
    pub removed: bool,
}

impl RegisteredDag {
    /// Its definition with tasks and schedules.
    pub fn whole(self) -> DagDef {
        let mut def = self.def;
        def.tasks = self.tasks.iter().map(|task| (*task.def).clone()).collect();
        def.schedules = self.schedules.into_iter().map(|(_, schedule)| schedule).collect();
        def
    }
}

/// A task with an open release: what is registered does not become active by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The active version.
    pub active: RegisteredTask,
    /// Another one, with the business dates that take it.
    pub other: Option<(Share, RegisteredTask)>,
}

/// A task as it is registered.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredTask {
    /// The task.
    pub task_id: TaskId,
    /// The version.
    pub version_id: TaskVersionId,
    /// Its number: authored, or counted up by content.
    pub version: u32,
    /// Its content.
    pub def: Arc<TaskDef>,
    /// Whether it runs.
    pub enabled: bool,
}

/// A schedule as whoever fires it needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSchedule {
    /// Its id.
    pub id: ScheduleId,
    /// Its dag.
    pub dag: DagId,
    /// Its definition; `paused` is how it stands now.
    pub def: ScheduleDef,
    /// What it fires, with the values for it: `def.bindings` with the ids of the tasks. A task that
    /// is not in the dag any more is left out.
    pub bindings: Vec<(Target, BTreeMap<String, serde_json::Value>)>,
    /// Each fire up to this instant is a run, or in the record of a skip.
    pub watermark: Instant,
    /// When it was last defined otherwise, moved, paused, resumed or removed.
    pub changed_at: Instant,
    /// The periods of its life that reach beyond the watermark, in order.
    pub periods: Vec<Period>,
    /// Skips that reach beyond the watermark, ascending: first and last fire.
    pub ahead: Vec<(Instant, Instant)>,
    /// Whether the fire at the watermark was skipped, and why.
    pub last_skip: Option<SkipReason>,
}

/// The whole life of a schedule, for whoever proves that none of its fires was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleLife {
    /// Its id.
    pub id: ScheduleId,
    /// `dag.schedule`.
    pub key: String,
    /// Each fire up to this instant is a run, or in the record of a skip.
    pub watermark: Instant,
    /// All periods of its life, in order.
    pub periods: Vec<Period>,
    /// Its skips by their ends, newest first.
    pub skips: Vec<Skip>,
    /// The nominal times of its timed runs, newest first.
    pub fired: Vec<(Instant, RunId)>,
}

/// Where the result of a task run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredResult {
    /// Here, as JSON text.
    Text(Arc<str>),
    /// In this file, because it is large.
    File(String),
}

impl StoredResult {
    /// From the two columns that a row has for it.
    pub(crate) fn of(text: Option<Arc<str>>, uri: Option<String>) -> Option<StoredResult> {
        text.map(StoredResult::Text).or(uri.map(StoredResult::File))
    }
}

/// Transactions and questions; a store has no others.
pub trait Store: Send + BackfillStore {
    /// Registers definitions. All or nothing; the same definitions again change no row.
    ///
    /// A task whose content changed gets a new version, which becomes active unless a release is
    /// open ([`Store::release`]). A task that is no longer in its dag is marked removed. The cycle check across dags runs inside the
    /// transaction. Pauses and watermarks of schedules stay as they are.
    ///
    /// # Errors
    /// `StoreError::Refused` with every problem found: a cycle across dags, an authored version
    /// whose content changed.
    fn register(&mut self, dags: &[DagDef], now: Instant)
    -> Result<Vec<RegisteredDag>, StoreError>;

    /// Marks dags as removed, and their schedules with them. What is open of them goes on. Keys
    /// that are not registered are passed over. Registering such a dag again brings it back.
    fn remove_dags(&mut self, keys: &[String], now: Instant) -> Result<(), StoreError>;

    /// The schedules of a dag that fire, or that have fires before their removal which are neither
    /// runs nor skips yet.
    fn schedules(&mut self, dag: DagId) -> Result<Vec<StoredSchedule>, StoreError>;

    /// The schedule that comes next by its id, removed ones included, with its whole life; of its
    /// skips and runs the newest, at most so many.
    fn life(
        &mut self,
        after: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Option<ScheduleLife>, StoreError>;

    /// Skips of a dag's schedules, newest first, at most so many.
    fn skips(&mut self, dag: DagId, limit: u32) -> Result<Vec<Skip>, StoreError>;

    /// The dag of this key, unless it was never registered.
    fn dag(&mut self, key: &str) -> Result<Option<RegisteredDag>, StoreError>;

    /// Keys of all registered dags that are not removed, sorted.
    fn dag_keys(&mut self) -> Result<Vec<String>, StoreError>;

    /// Definitions of versions, whether active or not.
    fn versions(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, RegisteredTask>, StoreError>;

    /// All versions of a task, the newest first; none where there is no such task.
    fn task_versions(&mut self, task: &str) -> Result<Vec<VersionRow>, StoreError>;

    /// Somebody decides which version the next runs of a task take. Runs that are made keep
    /// theirs. Returned is whether that was otherwise before.
    ///
    /// # Errors
    /// `StoreError::Refused`: there is no such task, version or share, or the versions that runs
    /// would be made of do not fit together.
    fn release(
        &mut self,
        task: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError>;

    /// What was decided about the versions of a dag's tasks, the newest first.
    fn releases(&mut self, dag: DagId) -> Result<Vec<ReleaseRow>, StoreError>;

    /// What is registered of these dags, by their keys, is in files of this content now.
    fn keep_code(&mut self, code: &[(&str, &str)]) -> Result<(), StoreError>;

    /// The content of their file with which versions were registered last, as far as it is known.
    fn code(
        &mut self,
        ids: &[TaskVersionId],
    ) -> Result<BTreeMap<TaskVersionId, String>, StoreError>;

    /// A process comes up: its node, and a scope of its own whose lease it holds.
    fn join(&mut self, node: &NodeRow) -> Result<ScopeLease, StoreError>;

    /// A node takes the scope of this name, making it if there is none. `held` is what
    /// [`Store::scope_named`] said of it, so that of two who take it one is refused.
    ///
    /// # Errors
    /// `CommitError::Fenced` when the scope is not as `held` says.
    fn lead(
        &mut self,
        name: &str,
        node: NodeId,
        held: Option<ScopeLease>,
        now: Instant,
    ) -> Result<ScopeLease, CommitError>;

    /// Who holds the scope of this name, if there is one.
    fn scope_named(&mut self, name: &str) -> Result<Option<ScopeLease>, StoreError>;

    /// The open runs of a scope, oldest first; and those that have ended and hold something that
    /// time alone will change.
    fn open_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError>;

    /// Asks something of whoever decides for a scope; gives the number of the request.
    fn put_request(
        &mut self,
        scope: ScopeId,
        ask: &Ask,
        by: Option<&str>,
        now: Instant,
    ) -> Result<i64, StoreError>;

    /// A request, with its answer if it has one.
    fn request(&mut self, id: i64) -> Result<Option<RequestRow>, StoreError>;

    /// What is asked of a scope and not decided yet, oldest first, at most so many.
    fn open_requests(&mut self, scope: ScopeId, limit: u32) -> Result<Vec<RequestRow>, StoreError>;

    /// Keys and revisions of all dags that are not removed: who has a copy sees what is newer.
    fn revisions(&mut self) -> Result<Vec<(DagId, i64)>, StoreError>;

    /// Whether another connection may have written since this was asked last.
    fn changed(&mut self) -> Result<bool, StoreError>;

    /// The node lives, and holds its scope until `lease_until`.
    ///
    /// # Errors
    /// `CommitError::Fenced` when somebody else holds the scope by now.
    fn heartbeat(
        &mut self,
        lease: ScopeLease,
        now: Instant,
        lease_until: Instant,
    ) -> Result<(), CommitError>;

    /// The process leaves in good order: its node is stopped and leases it still has are dropped.
    fn leave(&mut self, lease: ScopeLease, now: Instant) -> Result<(), StoreError>;

    /// A node by its id.
    fn node(&mut self, id: NodeId) -> Result<Option<NodeRow>, StoreError>;

    /// Who holds a scope.
    fn holder(&mut self, scope: ScopeId) -> Result<Option<ScopeLease>, StoreError>;

    /// Moves a run from the scope of a process that is gone to the scope of `lease`. The old
    /// scope's epoch grows, so that its holder, if it wakes up, can write no more.
    ///
    /// # Errors
    /// `CommitError::Conflict` when the run is not in `from` any more.
    fn take_over(
        &mut self,
        run: RunId,
        from: ScopeId,
        lease: ScopeLease,
        now: Instant,
    ) -> Result<(), CommitError>;

    /// The ids that the next run and the next task run will have if nobody else makes one first.
    fn next_ids(&mut self) -> Result<NextIds, StoreError>;

    /// Writes a batch, all or nothing, and returns when it is durable.
    ///
    /// # Errors
    /// Any `CommitError`; nothing of the batch is then written.
    fn commit(&mut self, batch: &Batch) -> Result<(), CommitError>;

    /// A run with all that is needed to go on with it.
    fn stored_run(&mut self, run: RunId) -> Result<Option<StoredRun>, StoreError>;

    /// Runs that match, newest first.
    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError>;

    /// The task runs of a run, by id, with their task names.
    fn task_runs(&mut self, run: RunId) -> Result<Vec<TaskRunView>, StoreError>;

    /// Attempts that match, oldest first.
    fn attempts(&mut self, filter: &AttemptFilter) -> Result<Vec<AttemptRow>, StoreError>;

    /// The packed journal of a run, oldest first.
    fn journal(&mut self, run: RunId) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Slots of the named pools: capacity, and how many live attempts hold.
    fn pools(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError>;

    /// Makes a named pool or changes its size.
    fn set_pool(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError>;

    /// The pools whose queue ages: for how long a wait makes up for one class, in milliseconds.
    fn ageing(&mut self) -> Result<BTreeMap<String, i64>, StoreError>;

    /// Lets the queue of a pool age from now on; none is strict order. A pool that is not there is
    /// passed over.
    fn set_ageing(&mut self, pool: &str, step_ms: Option<i64>) -> Result<(), StoreError>;

    /// Slots of the limits: capacity, and how many live attempts hold.
    fn limits(&mut self) -> Result<BTreeMap<String, (u32, u32)>, StoreError>;

    /// Makes a limit or changes its size.
    fn set_limit(&mut self, name: &str, slots: u32, now: Instant) -> Result<(), StoreError>;

    /// Checks the invariants of the data; empty when all hold.
    fn verify(&mut self) -> Result<Vec<Violation>, StoreError>;

    /// A task by its full key, as edges of other runs look at it; also one that was removed.
    fn upstream(&mut self, key: &str) -> Result<Option<UpstreamTask>, StoreError>;

    /// Full key of the task that makes an asset ready, if one does.
    fn producer(&mut self, asset: &str) -> Result<Option<String>, StoreError>;

    /// The newest runs of a task, one for each instant, in the order of those. Runs from which
    /// whoever asked for them left it out do not count.
    fn upstream_runs(&mut self, task: TaskId, at: &RunsAt) -> Result<Vec<UpstreamRun>, StoreError>;

    /// Ends of a task for instants of which the dag that follows it has no timed run yet: of each
    /// instant the newest run, if the task has ended in that, in the order of the instants.
    fn upstream_ends(
        &mut self,
        asked: &EndsAsked,
    ) -> Result<Vec<(RunRow, UpstreamRun)>, StoreError>;

    /// The number of the newest entry of the journal: what is written later has a larger one.
    fn journal_head(&mut self) -> Result<i64, StoreError>;

    /// Since when all versions of a task, up to its active one, are so: when the oldest of those
    /// was registered. None where the active one is not, or there is no such task.
    fn so_since(
        &mut self,
        task: TaskId,
        is_so: &dyn Fn(&TaskDef) -> bool,
    ) -> Result<Option<Instant>, StoreError>;

    /// The edges of active versions to a task, or to an asset that it makes ready; WEAK ones left
    /// out.
    fn dependents(&mut self, task: TaskId) -> Result<Vec<DependentEdge>, StoreError>;

    /// What became of a task for some business dates, both ends included, in any order; see
    /// [`PastCell`].
    fn past_cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), StoreError>;

    /// How long the newest attempts of a task took that succeeded, in milliseconds, by the instants
    /// of their runs, at most so many.
    fn past_durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, StoreError>;

    /// Somebody outside says that an asset is ready for a business date. Returned is whether that
    /// was not known before.
    ///
    /// # Errors
    /// `StoreError::Refused`: no task has to do with such an asset.
    fn declare(
        &mut self,
        asset: &str,
        date: Date,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError>;

    /// Whether somebody outside said that.
    fn is_declared(&mut self, asset: &str, date: Date) -> Result<bool, StoreError>;

    /// Disables a task, by its full key, or enables it again. Returned is whether that was
    /// otherwise before.
    ///
    /// # Errors
    /// `StoreError::Refused`: there is no such task.
    fn enable(
        &mut self,
        task: &str,
        enabled: bool,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError>;

    /// Runs of a scope in which something is BLOCKED.
    fn blocked_runs(&mut self, scope: ScopeId) -> Result<Vec<RunId>, StoreError>;

    /// The result of a task run, if it has one.
    fn result(&mut self, task_run: TaskRunId) -> Result<Option<StoredResult>, StoreError>;
}
