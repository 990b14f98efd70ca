//! What a store may refuse, and what may go wrong with it.

use crate::model::{
    BackfillId, Instant, RunId, ScheduleId, SpecError, TaskId, TaskRunId, TimedKey,
};

use super::NextIds;

/// Why a batch was not written. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another process made runs meanwhile; decide again with these ids.
    #[error("the ids of new runs were taken by another process")]
    IdsMoved(NextIds),
    /// The scope has another holder by now: this process may not write for it any more.
    #[error("another process has taken over; this one may not write any more")]
    Fenced,
    /// A row is not as it was when the batch was decided; reload and decide again.
    #[error("{what} changed meanwhile")]
    Conflict {
        /// Which row.
        what: Changed,
    },
    /// A limit shared with other processes has no room for what the batch starts.
    #[error("limit {limit} has no room any more")]
    LimitFull {
        /// The limit.
        limit: String,
        /// What is left of it for the batch.
        free: u32,
    },
    /// A pool shared with other processes has no room for what the batch starts.
    #[error("pool {pool} has no room any more")]
    PoolFull {
        /// The pool.
        pool: String,
        /// Slots that are free.
        free: u32,
    },
    /// There is already a timed run for this instant.
    #[error("run {run} exists already for that dag and instant")]
    RunExists {
        /// The run.
        run: RunId,
        /// What it is the only one of.
        key: Box<TimedKey>,
    },
    /// A cell that a backfill was to compute is open in a run that somebody else decides for.
    #[error("task {task} is being run for {nominal_at}")]
    CellOpen {
        /// The task.
        task: TaskId,
        /// The instant.
        nominal_at: Instant,
    },
    /// A run of a backfill that somebody else decides for computes a cell that is asked for.
    #[error("run {run} of backfill {backfill} computes task {task} for {nominal_at}")]
    CellFilled {
        /// The task.
        task: TaskId,
        /// The instant.
        nominal_at: Instant,
        /// The run.
        run: RunId,
        /// The backfill.
        backfill: BackfillId,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A row that changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A run.
    Run(RunId),
    /// A task run.
    TaskRun(TaskRunId),
    /// An attempt: this one of this task run.
    Attempt(TaskRunId, u32),
    /// A schedule.
    Schedule(ScheduleId),
    /// A request: somebody answered it.
    Request(i64),
    /// A backfill, or what is in its way.
    Backfill(BackfillId),
}

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Changed::Run(id) => write!(f, "run {id}"),
            Changed::TaskRun(id) => write!(f, "task run {id}"),
            Changed::Request(id) => write!(f, "request {id}"),
            Changed::Backfill(id) => write!(f, "backfill {id}"),
            Changed::Schedule(id) => write!(f, "schedule {id}"),
            Changed::Attempt(id, no) => write!(f, "attempt {no} of task run {id}"),
        }
    }
}

/// What is said of a database on a server, and what of one in a file.
fn choose(path: &str, of_server: &'static str, of_file: &'static str) -> &'static str {
    if path.contains("://") { of_server } else { of_file }
}

/// What is wrong with a store. The message says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("cannot open the database {path}: {reason}\n  hint: {hint}")]
    Open {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// Nobody has made it yet.
    #[error("there is no database {path}\n  hint: `mainspring up` makes one, and schedules")]
    Absent {
        /// Where it would be.
        path: String,
    },
    /// The file belongs to something else.
    #[error(
        "{path} is not a mainspring database: {reason}\n  hint: name another {}; nothing was changed in this one",
        choose(.path, "schema", "file")
    )]
    Foreign {
        /// The file.
        path: String,
        /// What it is.
        reason: String,
    },
    /// The file was written by a newer version.
    #[error(
        "{path} has schema {found}, this version knows up to {known}\n  hint: install a newer mainspring; nothing was changed"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its schema.
        found: i64,
        /// The newest schema we know.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the database {path} is damaged: {reason}\n  hint: restore a backup, or {} to begin anew",
        choose(.path, "name another schema", "move the file away")
    )]
    Corrupt {
        /// The file.
        path: String,
        /// What SQLite says.
        reason: String,
    },
    /// No room, or not writable.
    #[error("cannot write to the database {path}: {reason}\n  hint: {hint}")]
    Write {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// Another process holds the write lock for longer than we wait.
    #[error(
        "the database {path} has been held by another process for {seconds} s\n  hint: find it {}; we go on when it lets go",
        choose(.path, "in pg_stat_activity", "with `fuser`")
    )]
    Busy {
        /// The file.
        path: String,
        /// How long we waited.
        seconds: u64,
    },
    /// The server cannot be reached, or takes no writes, for now.
    #[error("the database {path} is away: {reason}\n  hint: {hint}")]
    Away {
        /// The database, without its password.
        path: String,
        /// What happened.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A definition is refused.
    #[error(transparent)]
    Refused(#[from] SpecError),
    /// A question that would have changed something.
    #[error("this statement would write, and only what reads is answered")]
    Writes,
    /// One row that says nothing we understand. Others may be as they should.
    #[error("{0}\n  hint: `mainspring db verify` says what else does not add up")]
    Unreadable(String),
    /// Anything else.
    #[error("the database failed: {0}")]
    Other(String),
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl StoreError {
    /// The same, said of something, where it is about one row.
    pub(super) fn of(self, what: &str) -> StoreError {
        match self {
            StoreError::Unreadable(why) => StoreError::Unreadable(format!("{what}: {why}")),
            other => other,
        }
    }
}
