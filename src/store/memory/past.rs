//! What became of the cells of a task.

use std::cmp::Reverse;

use super::Data;
use crate::model::{Date, PastCell, State, TaskId};
use crate::store::definition::{DISABLED, NOT_SELECTED};

impl Data {
    pub(super) fn past_cells(
        &self,
        task: TaskId,
        (from, to): (Date, Date),
        each: &mut dyn FnMut(PastCell),
    ) {
        for row in self.task_runs.values() {
            let is_there = row.task_id == task && (from..=to).contains(&row.biz_date);
            let progress = &row.progress;
            let code = progress.code.as_deref();
            if !is_there || progress.item.is_some() || code == Some(NOT_SELECTED) {
                continue;
            }
            let open = self.runs.get(&row.run_id).is_some_and(|(run, _)| run.finished_at.is_none());
            each(PastCell {
                nominal_at: row.nominal_at,
                biz_date: row.biz_date,
                run: row.run_id,
                version: row.task_version_id,
                state: progress.state,
                disabled: code == Some(DISABLED),
                live: progress.state == State::Blocked && open,
                stale: progress.stale,
                finished_at: progress.finished_at,
                revision: progress.revision,
            });
        }
    }

    pub(super) fn past_durations(&self, task: TaskId, limit: u32) -> Vec<i64> {
        let rows = self.task_runs.values().filter(|row| row.task_id == task);
        let rows = rows.filter(|row| row.progress.state == State::Success);
        let mut found: Vec<_> = rows
            .filter_map(|row| {
                let last = (row.id, row.progress.attempt_no);
                let attempt = self.attempts.get(&last)?;
                let took = attempt.outcome.map(|_| attempt.record.duration_ms)?;
                Some((Reverse((row.nominal_at, row.id)), took))
            })
            .collect();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().take(limit as usize).map(|(_, took)| took).collect()
    }
}
