//! The one table of states and arrows. Nothing else in the code lists them.

use super::words::words;

words! {
    /// The state of a task run. Codes 0 to 4 are those of the warehouse tables that users bring.
    pub enum State {
        /// Created; waits for its time or its upstreams.
        Pending = "PENDING", 0;
        /// An attempt is live.
        Running = "RUNNING", 1;
        /// Done.
        Success = "SUCCESS", 2;
        /// Failed for good: budget used up, or retry not allowed.
        Failed = "FAILED", 3;
        /// The last allowed attempt ran out of time.
        Timeout = "TIMEOUT", 4;
        /// Somebody said stop.
        Canceled = "CANCELED", 5;
        /// Did not have to run.
        Skipped = "SKIPPED", 6;
        /// Every gate holds; in the queue.
        Ready = "READY", 7;
        /// An upstream ended badly; recovers by itself when that is repaired.
        Blocked = "BLOCKED", 8;
        /// An attempt ended badly and the delay before the next one runs.
        RetryWait = "RETRY_WAIT", 9;
    }
}

impl State {
    /// True where only an explicit rerun leads away.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            State::Success | State::Failed | State::Timeout | State::Canceled | State::Skipped
        )
    }

    /// True where the engine can still move it without anybody's help. BLOCKED is open, but
    /// waits for a repair elsewhere.
    pub const fn can_move(self) -> bool {
        matches!(self, State::Pending | State::Ready | State::Running | State::RetryWait)
    }

    /// True where a dependent that needs success cannot go on now.
    pub const fn ended_badly(self) -> bool {
        matches!(self, State::Failed | State::Timeout | State::Canceled | State::Blocked)
    }

    /// Whether the table has an arrow from this state to `to`.
    pub fn may_become(self, to: State) -> bool {
        ARROWS.iter().any(|(from, target, _)| *from == self && *target == to)
    }
}

/// Every arrow a task run may take, with what it is for.
pub const ARROWS: &[(State, State, &str)] = {
    use State::*;
    &[
        (Pending, Ready, "every gate holds"),
        (Pending, Blocked, "an upstream ended badly"),
        (Blocked, Pending, "that upstream was rerun or repaired"),
        (Blocked, Failed, "blocked for longer than block_timeout"),
        (Pending, Skipped, "its conditions or an edge say skip"),
        (Blocked, Skipped, "its conditions or an edge say skip"),
        (Ready, Pending, "an edge that held no longer does"),
        (RetryWait, Pending, "an edge that held no longer does"),
        (Ready, Running, "slots are free and a worker took it"),
        (Running, Success, "the attempt succeeded"),
        (Running, Failed, "the attempt failed and may not be retried"),
        (Running, Timeout, "the attempt ran out of time and may not be retried"),
        (Running, RetryWait, "the attempt ended badly and may be retried"),
        (RetryWait, Ready, "the delay is over"),
        (Running, Ready, "preempted or interrupted"),
        (Pending, Canceled, "cancel"),
        (Ready, Canceled, "cancel"),
        (Running, Canceled, "cancel, and its attempt has ended"),
        (RetryWait, Canceled, "cancel"),
        (Blocked, Canceled, "cancel"),
        (Success, Pending, "explicit rerun"),
        (Failed, Pending, "explicit rerun"),
        (Timeout, Pending, "explicit rerun"),
        (Canceled, Pending, "explicit rerun"),
        (Skipped, Pending, "explicit rerun"),
    ]
};

words! {
    /// How an attempt ended.
    pub enum Outcome {
        /// The handler returned and its result is stored.
        Success = "SUCCESS", 2;
        /// The handler raised, or its result cannot be stored.
        Failed = "FAILED", 3;
        /// It ran out of its own time.
        Timeout = "TIMEOUT", 4;
        /// It was stopped because somebody said cancel.
        Canceled = "CANCELED", 5;
        /// Its worker is gone.
        Lost = "LOST", 10;
        /// It gave its slot to a higher class.
        Preempted = "PREEMPTED", 11;
        /// An orderly shutdown stopped it.
        Interrupted = "INTERRUPTED", 12;
        /// Stopped by `rerun --stop`.
        Superseded = "SUPERSEDED", 13;
    }
}

words! {
    /// The state of a run, derived from its task runs.
    pub enum RunState {
        /// Something can still move.
        Running = "RUNNING", 1;
        /// Every task run succeeded or was skipped.
        Success = "SUCCESS", 2;
        /// Something failed and nothing can move; reopens when that is repaired.
        Failed = "FAILED", 3;
        /// Canceled.
        Canceled = "CANCELED", 5;
    }
}

words! {
    /// What made a run.
    pub enum Trigger {
        /// A schedule fired.
        Schedule = "schedule", 0;
        /// Somebody asked.
        Manual = "manual", 1;
        /// An upstream in another dag ended.
        Dependency = "dependency", 2;
        /// A backfill.
        Backfill = "backfill", 3;
        /// A fire that was missed and made good.
        Catchup = "catchup", 4;
        /// An outside event.
        Event = "event", 5;
        /// The API.
        Api = "api", 6;
        /// A rerun that made a run of its own.
        Rerun = "rerun", 7;
    }
}

impl Trigger {
    /// Whether the run makes itself, so that its tasks wait for `not_before`. Whoever asks for a
    /// run, a backfill included, has chosen when.
    pub const fn is_automatic(self) -> bool {
        matches!(self, Trigger::Schedule | Trigger::Catchup | Trigger::Dependency | Trigger::Event)
    }
}

words! {
    /// Why a live attempt is being stopped.
    pub enum StopReason {
        /// Somebody said cancel.
        Cancel = "cancel", 1;
        /// Out of its own time.
        Timeout = "timeout", 2;
        /// A higher class needs the slot.
        Preempt = "preempt", 3;
        /// Orderly shutdown.
        Interrupt = "interrupt", 4;
        /// `rerun --stop`.
        Supersede = "supersede", 5;
    }
}

words! {
    /// How a backfill stands.
    pub enum BackfillState {
        /// Its runs are made as there is room.
        Running = "RUNNING", 0;
        /// No more of its runs are made until somebody lets it go on; what is open goes on.
        Paused = "PAUSED", 1;
        /// All its runs have succeeded.
        Success = "SUCCESS", 2;
        /// All its runs have ended, and one did otherwise than well.
        Failed = "FAILED", 3;
        /// Somebody gave it up.
        Canceled = "CANCELED", 4;
    }
}

impl BackfillState {
    /// Whether it will not move by itself any more.
    pub fn is_final(self) -> bool {
        !matches!(self, BackfillState::Running | BackfillState::Paused)
    }
}
