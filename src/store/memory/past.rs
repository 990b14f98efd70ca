//! What became of the cells of a task.

use std::cmp::Reverse;

use super::Data;
use crate::model::{Date, PastCell, State, TaskId, TaskRunId, TaskRunRow};
use crate::store::definition::{DISABLED, NOT_SELECTED, UNCHANGED};

impl Data {
    /// The newest success of a cell before one of its task runs.
    pub(super) fn earlier(&self, task_run: TaskRunId) -> Option<&TaskRunRow> {
        let asked = self.task_runs.get(&task_run)?;
        let before = self.task_runs.range(..task_run).rev().map(|(_, row)| row);
        let mut before = before.filter(|row| {
            (row.task_id, row.nominal_at) == (asked.task_id, asked.nominal_at)
                && row.progress.state == State::Success
                && row.progress.item.is_none()
        });
        before.next()
    }

    /// The task run whose output is that of another: itself, or the success before where it was left
    /// as it was.
    pub(super) fn output_of(&self, task_run: TaskRunId) -> Option<&TaskRunRow> {
        let asked = self.task_runs.get(&task_run)?;
        match asked.progress.code.as_deref() {
            Some(UNCHANGED) => self.earlier(task_run),
            _ => Some(asked),
        }
    }

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
            let unchanged = code == Some(UNCHANGED);
            let kept = self.output_of(row.id).filter(|_| unchanged).unwrap_or(row);
            each(PastCell {
                nominal_at: row.nominal_at,
                biz_date: row.biz_date,
                run: row.run_id,
                version: kept.task_version_id,
                state: if unchanged { State::Success } else { progress.state },
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
