//! What the three kinds of processes say to each other.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::{
    AttemptRecord, AttemptStart, Date, Instant, Outcome, RunId, StopReason, TaskDef,
};
use crate::runtime::executor::{Input, Job, JobItem, ProcessHost, RunInfo};

/// The scheduler to a supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// End the whole tree within this time; it is known why.
    Kill {
        /// How long before it is done by force.
        grace_ms: u64,
        /// What a handler that can still hear should be told; none where none runs.
        reason: Option<StopReason>,
    },
}

/// A supervisor to the scheduler.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromSupervisor {
    /// The worker has been started.
    Started {
        /// Its process id.
        pid: i32,
    },
    /// It could not be.
    NotStarted {
        /// Why.
        why: String,
    },
    /// These live on although they were killed, and are killed again and again.
    Survivors {
        /// Their process ids.
        pids: Vec<i32>,
    },
    /// The worker and everything that came of it is gone.
    Dead {
        /// How the worker ended.
        status: DeathCertificate,
    },
}

/// How a worker ended, and what it and its descendants have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeathCertificate {
    /// Exit code, where it left by itself.
    pub exit_code: Option<i32>,
    /// Signal, where one ended it.
    pub signal: Option<i32>,
    /// Whether it was asked to end, or ended by itself.
    pub asked: bool,
    /// Processor time of the tree.
    pub cpu_ms: Option<i64>,
    /// Peak memory of its largest process.
    pub max_rss_kb: Option<i64>,
}

/// The scheduler to a worker: one attempt.
#[derive(Serialize, Deserialize)]
pub struct WireJob {
    pub file: String,
    pub version: String,
    pub dag: String,
    pub at: (RunId, u32),
    pub attempt: AttemptStart,
    pub def: Arc<TaskDef>,
    pub run: WireRun,
    pub inputs: Vec<(String, WireInput)>,
    /// Which item it is, and what it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<(u32, Box<RawValue>)>,
    /// Results that the texts of the task ask for, by the task that they are of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(String, WireInput)>,
}

/// What the handlers of a run may know of it.
#[derive(Serialize, Deserialize)]
pub struct WireRun {
    id: RunId,
    dag: String,
    nominal_at: Instant,
    biz_date: Date,
    interval: (Instant, Instant),
    timezone: String,
    params: Map<String, Value>,
}

/// An argument that is the result of an upstream.
#[derive(Serialize, Deserialize)]
pub enum WireInput {
    /// JSON text, as it is.
    Text(Box<RawValue>),
    /// The file that holds it.
    File(String),
    /// Nothing.
    Nothing,
}

impl WireJob {
    /// An attempt as it is sent.
    ///
    /// # Errors
    /// A stored result that is not JSON.
    pub fn of(job: &Job, host: &ProcessHost) -> serde_json::Result<WireJob> {
        let run = &job.run;
        let named = |(name, input): &(String, Input)| Ok((name.clone(), WireInput::of(input)?));
        let inputs = job.inputs.iter().map(named).collect::<serde_json::Result<_>>()?;
        let results = job.texts.results.iter().map(named).collect::<serde_json::Result<_>>()?;
        let item = |item: &JobItem| {
            Ok::<_, serde_json::Error>((
                item.map_index,
                RawValue::from_string(item.text.to_string())?,
            ))
        };
        Ok(WireJob {
            item: job.item.as_ref().map(item).transpose()?,
            file: host.file.to_string_lossy().into_owned(),
            version: host.version.clone(),
            dag: host.dag.clone(),
            at: (job.at.run, job.at.index),
            attempt: job.attempt.clone(),
            def: Arc::clone(&job.def),
            run: WireRun {
                id: run.id,
                dag: run.dag.clone(),
                nominal_at: run.nominal_at,
                biz_date: run.biz_date,
                interval: run.interval,
                timezone: run.timezone.clone(),
                params: run.params.clone(),
            },
            inputs,
            results,
        })
    }
}

impl WireRun {
    /// The run as handlers know it.
    pub fn into_info(self) -> RunInfo {
        let WireRun { id, dag, nominal_at, biz_date, interval, timezone, params } = self;
        RunInfo { id, dag, nominal_at, biz_date, interval, timezone, params }
    }
}

impl WireInput {
    fn of(input: &Input) -> serde_json::Result<WireInput> {
        Ok(match input {
            Input::Text(text) => WireInput::Text(RawValue::from_string(text.to_string())?),
            Input::File(path) => WireInput::File(path.clone()),
            Input::Nothing => WireInput::Nothing,
        })
    }

    /// The argument as it was before it was sent.
    pub fn into_input(self) -> Input {
        match self {
            WireInput::Text(text) => Input::Text(text.get().into()),
            WireInput::File(path) => Input::File(path),
            WireInput::Nothing => Input::Nothing,
        }
    }
}

/// A worker to the scheduler.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// It has come up.
    Ready,
    /// The handler has returned, and everything that it printed lies in the pipes.
    Done(Box<Done>),
}

/// How an attempt ended in its worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// SUCCESS or FAILED.
    pub outcome: Outcome,
    /// The result, JSON text as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// What was seen.
    pub record: AttemptRecord,
    /// Processor time of the worker and what it has waited for, since it came up.
    pub cpu_total_ms: i64,
    /// Whether it has the file now.
    pub imported: bool,
    /// Why it must not run another attempt.
    pub spoilt: Option<String>,
    /// The check of a probe said no.
    #[serde(default)]
    pub not_ready: bool,
}
