//! What a plan is computed from: what is registered, and what is remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::PlannedTask;
use crate::model::{
    BackfillId, BizOffset, DagId, Date, Instant, PastCell, Period, ScheduleDef, Share, TaskDef,
    TaskId, TaskVersionId,
};

/// A dag as it is registered.
#[derive(Clone, Debug)]
pub struct DagFacts {
    /// Its id.
    pub id: DagId,
    /// Its key.
    pub key: String,
    /// Zone of its dates where no schedule says otherwise.
    pub timezone: String,
    /// How business dates follow from nominal dates, where no schedule says otherwise.
    pub biz_offset: Option<BizOffset>,
    /// Its tasks with the numbers of their versions, in the author's order.
    pub tasks: Vec<(PlannedTask, u32)>,
    /// Tasks of which another version is out, by index: who takes it, and the version.
    pub shares: Vec<(usize, Share, TaskVersionId)>,
    /// The schedules of the dag, then those of tasks that have their own.
    pub lives: Vec<Life>,
}

/// The schedules of a target, those that were removed too, with all periods of their lives.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The task, by its index, where it fires by itself.
    pub task: Option<usize>,
    /// The schedules.
    pub schedules: Vec<(ScheduleDef, Vec<Period>)>,
}

/// All that is registered, as far as a plan reaches.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The dags: the one that is asked for, those that it looks at, and those that look at it.
    pub dags: Vec<DagFacts>,
    /// Cells that open backfills have.
    pub held: BTreeMap<(TaskId, Instant), BackfillId>,
    /// Slots of pools and limits, by their names; the default pool has no name.
    pub slots: BTreeMap<String, u32>,
}

/// What is remembered. A plan asks for what it looks at and for no more.
pub trait Past {
    /// Why it cannot be read.
    type Error;

    /// The task runs of a task for some business dates, in any order.
    ///
    /// # Errors
    /// What went wrong.
    fn cells(
        &mut self,
        task: TaskId,
        dates: (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) -> Result<(), Self::Error>;

    /// The content of a version.
    ///
    /// # Errors
    /// What went wrong.
    fn definition(&mut self, version: TaskVersionId) -> Result<Option<Arc<TaskDef>>, Self::Error>;

    /// How long the newest attempts of a task took that succeeded, in milliseconds, at most so many.
    ///
    /// # Errors
    /// What went wrong.
    fn durations(&mut self, task: TaskId, limit: u32) -> Result<Vec<i64>, Self::Error>;
}
