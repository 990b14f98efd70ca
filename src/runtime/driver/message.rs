//! What the driver is told, by whom, and who waits for the answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_channel::Sender;

use super::settle::Settled;
use crate::engine::{NewRun, Plan, Report, RerunWhat, TaskRunRef, Word};
use crate::model::{
    BackfillId, BackfillPlan, DagId, Instant, Missed, RequestRow, RunId, ScheduleId, Steer, Token,
};
use crate::runtime::executor::HandlerHost;
use crate::runtime::refusal::SessionError;
use crate::runtime::request::CachedPlan;
use crate::runtime::stubs::StubPlan;
use crate::runtime::watch::{BackfillWatch, RunWatch};
use crate::store::StoredRun;

/// Where an answer goes.
pub type Answer<T> = Sender<Result<T, SessionError>>;
/// A run that was made, and how to follow it.
pub type Made = (RunId, Arc<RunWatch>);

/// A backfill, and how to follow it.
pub type Backfilled = (BackfillId, Arc<BackfillWatch>);

/// What the driver is told.
pub enum Message {
    /// Make a run.
    Submit(Submit),
    /// Go on with a run that another process began.
    Adopt(Adopt),
    /// Run again what is final.
    Rerun(RunId, RerunWhat, Answer<()>),
    /// Carry out a plan.
    Begin(Begin),
    /// Take up a backfill, or do something about it.
    Take(Take),
    /// How many attempts of a backfill are live here?
    LiveOf(BackfillId, Sender<usize>),
    /// An attempt has ended.
    Report(Report),
    /// The check of a probe said no.
    NotReady {
        /// Which task run.
        at: TaskRunRef,
        /// Which attempt.
        attempt_no: u32,
        /// Its token.
        token: Token,
    },
    /// A person's word at a gate.
    Approve(Word, Answer<()>),
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
    /// Fire the schedules of these dags, and take up what is open of them.
    Serve(Serve),
    /// The schedules of these dags were changed by somebody else: read them anew.
    Refresh {
        /// Which; those that are not served are passed over.
        dags: Vec<DagId>,
        /// Told when it is done.
        reply: Answer<()>,
    },
    /// Pause schedules, or let them go on.
    Pause {
        /// Which.
        schedules: Vec<ScheduleId>,
        /// Whether they are paused from now on.
        paused: bool,
        /// Which fires of a pause that ends are run.
        missed: Option<Missed>,
        /// Told when it is durable.
        reply: Answer<()>,
    },
    /// What is said in the place of handlers.
    Stub(StubPlan),
    /// When has everything happened that this instant brings?
    Settle(Settled),
    /// A named pool has so many slots.
    PoolSized(String, u32),
    /// The queue of a pool ages, or of all pools that do not say how; none is strict order.
    PoolAges(Option<String>, Option<i64>),
    /// A limit has so many slots.
    LimitSized(String, u32),
    /// Somebody asks something in the request table.
    Request(RequestRow),
    /// Start nothing more; what is live goes on.
    Drain,
    /// How much is going on?
    Load(Sender<Load>),
    /// Interrupt what runs and end.
    Close {
        /// How long live attempts may take.
        grace_ms: i64,
    },
}

/// How much is going on in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Attempts that are live.
    pub live: usize,
    /// Attempts that were given up and whose threads or trees still hold their slots.
    pub stuck: usize,
    /// Runs that are open.
    pub runs: usize,
    /// When something fires next.
    pub next_fire: Option<Instant>,
}

/// Dags to be served.
pub struct Serve {
    /// Which.
    pub dags: Vec<Served>,
    /// Told when it is done.
    pub reply: Answer<()>,
}

/// A dag to be served.
pub struct Served {
    /// What of it fires.
    pub served: crate::engine::Served,
    /// What runs are made of that somebody asks for.
    pub cached: Arc<CachedPlan>,
    /// Who can call its handlers.
    pub host: HandlerHost,
    /// Who can call those of runs that were made before this instant, the oldest first.
    pub older: Vec<(Instant, HandlerHost)>,
    /// Whether its file is gone: what is open is finished, and nothing new is made.
    pub removed: bool,
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

/// A plan to be carried out.
pub struct Begin {
    /// It.
    pub plan: Arc<BackfillPlan>,
    /// What the runs of each of its sets are to do.
    pub plans: Vec<Arc<Plan>>,
    /// Who can call the handlers of each dag.
    pub hosts: BTreeMap<String, HandlerHost>,
    /// Who asks.
    pub requested_by: Option<String>,
    /// Told its id when it is durable.
    pub reply: Answer<Backfilled>,
}

/// A backfill to be taken up, if it is not here.
pub struct Take {
    /// Which.
    pub id: BackfillId,
    /// Who can call the handlers of each dag that is not served.
    pub hosts: BTreeMap<String, HandlerHost>,
    /// What is to be done about it.
    pub steer: Option<Steer>,
    /// How long live attempts may take where they are stopped.
    pub grace_ms: Option<i64>,
    /// Told when it is durable.
    pub reply: Answer<Backfilled>,
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
