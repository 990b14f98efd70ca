//! Surrogate ids: 64-bit integers, one type each so that they cannot be mixed up.

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

id! {
    /// A dag.
    DagId;
    /// A task, whatever its version.
    TaskId;
    /// One immutable definition of a task.
    TaskVersionId;
    /// A schedule.
    ScheduleId;
    /// One firing of a target.
    RunId;
    /// One task within a run. The task runs that are made with a run have consecutive ids.
    TaskRunId;
    /// A plan and the runs that it makes.
    BackfillId;
    /// A scheduler or worker process.
    NodeId;
    /// What a decider decides for; the holder of its lease carries a growing epoch.
    ScopeId;
    /// Fencing token of an attempt: strictly grows per task run, across reruns and restores.
    Token;
}

impl TaskRunId {
    /// The id of the `index`-th task run after this one.
    #[must_use]
    pub const fn offset(self, index: u32) -> Self {
        TaskRunId(self.0 + index as i64)
    }
}

impl Token {
    /// The next token of a task run: later than the last one, and than anything a restored
    /// backup may have forgotten, as long as the clock was not set back.
    #[must_use]
    pub fn next(self, now: super::Instant) -> Self {
        Token(now.0.max(self.0 + 1))
    }
}
