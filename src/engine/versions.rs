//! Which versions a run is made of, where a task has two that are out.

use std::sync::{Arc, OnceLock};

use super::{Plan, PlannedTask};
use crate::model::{DagId, Date, Share, SpecError};
use crate::policy::bucket;

/// With so many tasks that have two versions, plans of all combinations are kept; with more of
/// them a plan is built for each run.
const KEPT: usize = 6;

/// Another version of a task, and which business dates take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The other version.
    pub task: PlannedTask,
    /// Who takes it.
    pub share: Share,
}

/// Whether a business date takes the other version of a task, which has this whole key. The same
/// answer for ever, so a run asked for twice is made of the same versions, unless somebody decides
/// otherwise in between.
pub fn takes(share: Share, task: &str, biz_date: Date) -> bool {
    match share {
        Share::Percent(percent) => bucket(&format!("{task} {biz_date}")) < percent,
        Share::FromBizDate(first) => biz_date >= first,
    }
}

/// The plans of a target: one for each combination of versions.
#[derive(Clone, Debug)]
pub struct Plans {
    base: Arc<Plan>,
    /// Index in the plan, and the other version.
    candidates: Vec<(usize, Candidate)>,
    /// By which of them a combination has, as a number in binary.
    made: Arc<[OnceLock<Arc<Plan>>]>,
}

impl Plans {
    /// The plans of these tasks. Candidates of other tasks are passed over.
    ///
    /// # Errors
    /// What is wrong with the edges of the active versions.
    pub fn new(
        dag_id: DagId,
        dag: &str,
        tasks: Vec<PlannedTask>,
        candidates: &[Candidate],
    ) -> Result<Plans, SpecError> {
        let place = |candidate: &Candidate| {
            let at = tasks.iter().position(|task| task.task_id == candidate.task.task_id)?;
            Some((at, candidate.clone()))
        };
        let candidates: Vec<_> = candidates.iter().filter_map(place).collect();
        let kept = if candidates.len() <= KEPT { 1 << candidates.len() } else { 0 };
        let base = Arc::new(Plan::build(dag_id, dag, tasks)?);
        Ok(Plans { base, candidates, made: (0..kept).map(|_| OnceLock::new()).collect() })
    }

    /// The plan of the active versions: for names and parameters, which need no date.
    pub fn active(&self) -> &Arc<Plan> {
        &self.base
    }

    /// The plan of a run of this business date.
    ///
    /// # Errors
    /// Where the versions cannot be put together. A release that allows that is refused.
    pub fn of(&self, biz_date: Date) -> Result<Arc<Plan>, SpecError> {
        let taken: Vec<bool> = self
            .candidates
            .iter()
            .map(|(_, candidate)| {
                let key = format!("{}.{}", self.base.dag, candidate.task.def.name);
                takes(candidate.share, &key, biz_date)
            })
            .collect();
        if !taken.contains(&true) {
            return Ok(Arc::clone(&self.base));
        }
        let number = taken.iter().rev().fold(0, |number, taken| number * 2 + usize::from(*taken));
        let kept = if taken.len() <= KEPT { self.made.get(number) } else { None };
        if let Some(plan) = kept.and_then(OnceLock::get) {
            return Ok(Arc::clone(plan));
        }
        let mut tasks = self.base.tasks.clone();
        for ((at, candidate), _) in self.candidates.iter().zip(&taken).filter(|(_, taken)| **taken)
        {
            if let Some(task) = tasks.get_mut(*at) {
                *task = candidate.task.clone();
            }
        }
        let plan = Arc::new(Plan::build(self.base.dag_id, &self.base.dag, tasks)?);
        Ok(match kept {
            Some(kept) => Arc::clone(kept.get_or_init(|| plan)),
            None => plan,
        })
    }
}

/// Two are equal that make the same plans, whichever of them are built already.
impl PartialEq for Plans {
    fn eq(&self, other: &Self) -> bool {
        self.base == other.base && self.candidates == other.candidates
    }
}
