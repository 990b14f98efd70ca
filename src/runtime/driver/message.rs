//! What the driver is told, by whom, and who waits for the answer.

use std::sync::Arc;

use crossbeam_channel::Sender;

use crate::engine::{NewRun, Plan, Report, RerunWhat, TaskRunRef};
use crate::model::RunId;
use crate::runtime::executor::HandlerHost;
use crate::runtime::refusal::SessionError;
use crate::runtime::watch::RunWatch;
use crate::store::StoredRun;

/// Where an answer goes.
pub type Answer<T> = Sender<Result<T, SessionError>>;
/// A run that was made, and how to follow it.
pub type Made = (RunId, Arc<RunWatch>);

/// What the driver is told.
pub enum Message {
    /// Make a run.
    Submit(Submit),
    /// Go on with a run that another process began.
    Adopt(Adopt),
    /// Run again what is final.
    Rerun(RunId, RerunWhat, Answer<()>),
    /// An attempt has ended.
    Report(Report),
    /// Stop a run or some of its task runs.
    Cancel {
        /// The run.
        run: RunId,
        /// Only these.
        only: Option<Vec<u32>>,
        /// How long they may take.
        grace_ms: Option<i64>,
    },
    /// The clock was moved: timers may be due.
    ClockMoved,
    /// Why is this task run where it is?
    Explain(TaskRunRef, Sender<Option<String>>),
    /// A named pool has so many slots.
    PoolSized(String, u32),
    /// Interrupt what runs and end.
    Close {
        /// How long live attempts may take.
        grace_ms: i64,
    },
}

/// A run to be made.
pub struct Submit {
    /// What to make.
    pub run: NewRun,
    /// Who can call its handlers.
    pub host: HandlerHost,
    /// Told the run's id when it is durable.
    pub reply: Answer<Made>,
}

/// A run to be taken up.
pub struct Adopt {
    /// It, as it is stored.
    pub stored: StoredRun,
    /// What it is to do.
    pub plan: Arc<Plan>,
    /// Who can call its handlers.
    pub host: HandlerHost,
    /// What to do with it besides taking up what is open.
    pub rerun: Option<RerunWhat>,
    /// Told when it is durable.
    pub reply: Answer<Arc<RunWatch>>,
}
