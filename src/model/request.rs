//! What somebody asks of the scheduler from another process, and what it answers.
//!
//! The one who asks writes a row; the scheduler in whose scope it falls decides, and writes the
//! answer in the transaction that carries it out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::words;
use super::{BackfillId, BackfillPlan, Date, Instant, Missed, RunId, ScopeId};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// A run of a dag.
    Trigger {
        /// The dag.
        dag: String,
        /// The day its data belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        biz_date: Option<Date>,
        /// The instant it is meant for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nominal_at: Option<Instant>,
        /// Values for its parameters.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        params: Map<String, Value>,
        /// Only these tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<String>>,
        /// Whether what is disabled, or what `run_on` would skip, runs all the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// The end of a run, or of some of its tasks.
    Cancel {
        /// The run.
        run: RunId,
        /// Only these tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tasks: Option<Vec<String>>,
        /// How long live attempts may take; none is each task's own grace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<i64>,
    },
    /// Another go at what is final in a run.
    Rerun {
        /// The run.
        run: RunId,
        /// These tasks; none is whatever did not succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tasks: Option<Vec<String>>,
        /// And all that is downstream of them.
        #[serde(default)]
        downstream: bool,
    },
    /// A person's word at a gate.
    Approve {
        /// The run.
        run: RunId,
        /// The gate.
        task: String,
        /// Whether the word is no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reject: bool,
        /// What else is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// No new fires of a dag's schedules.
    Pause {
        /// The dag.
        dag: String,
        /// Only this schedule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedule: Option<String>,
    },
    /// New fires again.
    Resume {
        /// The dag.
        dag: String,
        /// Only this schedule.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedule: Option<String>,
        /// Which fires of the pause are run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missed: Option<Missed>,
    },
    /// A plan to be carried out.
    Backfill {
        /// The plan.
        plan: Box<BackfillPlan>,
    },
    /// Something to be done about a backfill that was applied.
    Steer {
        /// Which.
        backfill: BackfillId,
        /// What.
        steer: Steer,
        /// How long live attempts may take where it is given up; none is each task's own grace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<i64>,
    },
}

words! {
    /// What may be done about a backfill that was applied.
    pub enum Steer {
        /// No more of its runs are made.
        Pause = "pause", 0;
        /// They are made again.
        Resume = "resume", 1;
        /// It is given up, with what is open of it.
        Cancel = "cancel", 2;
        /// The same as pause, and what is live of it is interrupted: nothing of it starts in this
        /// process any more until it is resumed.
        Halt = "halt", 4;
        /// What failed is run again, and what was not started is made.
        Retry = "retry", 3;
    }
}

impl Ask {
    /// Its word.
    pub fn kind(&self) -> &'static str {
        match self {
            Ask::Trigger { .. } => "trigger",
            Ask::Cancel { .. } => "cancel",
            Ask::Rerun { .. } => "rerun",
            Ask::Approve { .. } => "approve",
            Ask::Pause { .. } => "pause",
            Ask::Resume { .. } => "resume",
            Ask::Backfill { .. } => "backfill",
            Ask::Steer { .. } => "steer",
        }
    }

    /// The run that it is about, if it is about one.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Ask::Cancel { run, .. } | Ask::Rerun { run, .. } | Ask::Approve { run, .. } => {
                Some(*run)
            }
            _ => None,
        }
    }

    /// The backfill that it is about, if it is about one that there is.
    pub fn backfill(&self) -> Option<BackfillId> {
        match self {
            Ask::Steer { backfill, .. } => Some(*backfill),
            _ => None,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The run that was made, or is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The backfill that was begun, or is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<BackfillId>,
    /// Why it was refused, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A request as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRow {
    /// Its id; grows.
    pub id: i64,
    /// Who is asked.
    pub scope: ScopeId,
    /// What is asked for: JSON text of an `Ask`, which a newer version may have written.
    pub payload: String,
    /// Who asks.
    pub requested_by: Option<String>,
    /// When.
    pub requested_at: Instant,
    /// When it was decided.
    pub decided_at: Option<Instant>,
    /// The answer: JSON text of a `Decided`.
    pub answer: Option<String>,
}
