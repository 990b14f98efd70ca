//! The invariants of the data, checked from outside: nothing here is used by what writes.
//!
//! A store hands over one run at a time with everything that belongs to it; what concerns
//! several runs, it asks by itself.

mod attempts;
mod backfills;
mod fold;
mod items;
mod run;
mod schedules;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use backfills::check_backfills;
pub(super) use schedules::{ScheduleFacts, check_schedules};

use super::{RegisteredTask, StoredRun, Violation};
use crate::model::{AttemptRow, TaskRunRow, TaskVersionId};

/// What each id of the list of invariants says of the data.
const RULES: &[(&str, &str)] = &[
    ("U1", "a task has one task run in a run for each place, and an instant one timed run"),
    ("U2", "a fire is a run or a skip, and that once"),
    (
        "U3",
        "a schedule's periods follow each other from its first to the open one, its watermark in them",
    ),
    ("U8", "a place of a backfill has one run at most, and each of its cells is in one place"),
    ("L1", "a task run takes only the arrows of the table"),
    ("L2", "what is final moves by a rerun only, and has the time of its end"),
    ("L3", "the journal, read from its beginning, gives the row"),
    ("L4", "times are in order, and attempts of a task run do not overlap"),
    ("L5", "an attempt has one row, and its end is written once"),
    ("F3", "tokens of a task run grow"),
    ("R1", "attempts count from 1 without a gap, within their budget"),
    ("D1", "an attempt starts only when its upstreams allow it"),
    ("M1", "a mapped task has its items each once, and is open as long as one of them is"),
    ("O2", "no pool is used beyond its slots"),
    ("O3", "no limit is used beyond its slots"),
    ("V2", "what is RUNNING has a lease, and only a live thread has one"),
    ("S1", "a run's state is that of its task runs"),
    ("S2", "a run has all its task runs, and every row belongs to one that is there"),
    ("S3", "a task runs the version that was chosen, else the one that was registered last"),
    ("B1", "the file is whole"),
];

/// Collects what is broken, in the order of the list.
#[derive(Debug, Default)]
pub(super) struct Findings(BTreeMap<usize, Vec<String>>);

impl Findings {
    /// Notes a row that breaks an invariant.
    pub(super) fn note(&mut self, invariant: &str, row: impl Into<String>) {
        let at = RULES.iter().position(|(id, _)| *id == invariant).unwrap_or(RULES.len() - 1);
        self.0.entry(at).or_default().push(row.into());
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.0
            .into_iter()
            .filter_map(|(at, rows)| {
                let (invariant, rule) = RULES.get(at)?;
                Some(Violation { invariant, rule, rows })
            })
            .collect()
    }
}

/// A run with everything that belongs to it.
pub(super) struct RunFacts<'a> {
    pub run: &'a StoredRun,
    pub attempts: &'a [AttemptRow],
    pub journal: &'a [Vec<u8>],
    pub versions: &'a BTreeMap<TaskVersionId, Arc<RegisteredTask>>,
}

impl RunFacts<'_> {
    /// The task runs that were made with the run; after them come items of mapped tasks.
    fn planned(&self) -> &[TaskRunRow] {
        let rows = &self.run.task_runs;
        let end = self.run.row.first_task_run_id.offset(self.run.row.task_count);
        &rows[..rows.partition_point(|row| row.id < end)]
    }
}

/// Checks what can be seen in one run.
pub(super) fn check_run(facts: &RunFacts<'_>, findings: &mut Findings) {
    run::check(facts, findings);
    attempts::check(facts, findings);
    items::check(facts, findings);
    fold::check(facts, findings);
}
