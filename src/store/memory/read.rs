//! Questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Data;
use crate::model::{AttemptRow, RunId, RunRow, State, TaskRunId, TaskRunRow, TaskVersionId};
use crate::store::{
    AttemptFilter, RegisteredDag, RegisteredTask, RunFilter, RunSummary, StoredRun, TaskRunView,
};

impl Data {
    pub(super) fn dag(&self, key: &str) -> Option<RegisteredDag> {
        let (id, dag) = self.dags.iter().find(|(_, dag)| dag.header.key == key)?;
        let mut tasks: Vec<_> =
            self.tasks.iter().filter(|(_, task)| task.dag == *id && !task.removed).collect();
        tasks.sort_by_key(|(id, task)| (task.position, **id));
        let mut schedules: Vec<_> = self
            .schedules
            .iter()
            .filter(|(_, schedule)| schedule.dag == *id && !schedule.removed)
            .collect();
        schedules.sort_by_key(|(id, schedule)| (schedule.position, **id));
        let mut held = self.held(*id);
        held.retain(|held| tasks.iter().any(|(id, _)| **id == held.active.task_id));
        Some(RegisteredDag {
            id: *id,
            def: dag.header.clone(),
            tasks: tasks.iter().filter_map(|(_, task)| self.version(task.active)).collect(),
            schedules: schedules.iter().map(|(id, found)| (**id, found.def.clone())).collect(),
            held,
            revision: dag.revision,
            removed: dag.removed,
        })
    }

    pub(super) fn version(&self, id: TaskVersionId) -> Option<RegisteredTask> {
        let version = self.versions.get(&id)?;
        let task = self.tasks.get(&version.task)?;
        let mut def = version.def.clone();
        def.source = task.source.clone().filter(|_| task.registered == id);
        Some(RegisteredTask {
            task_id: version.task,
            version_id: id,
            version: version.number,
            def: Arc::new(def),
            enabled: task.enabled,
        })
    }

    /// The task runs of a run: those made with it, which have consecutive ids, and then items.
    fn rows_of(&self, run: RunId) -> impl Iterator<Item = &TaskRunRow> {
        let made = self.runs.get(&run).map_or(TaskRunId(0)..TaskRunId(0), |(row, _)| {
            row.first_task_run_id..row.first_task_run_id.offset(row.task_count)
        });
        let items = self.items.get(&run).into_iter().flatten();
        let items = items.filter_map(|id| self.task_runs.get(id));
        self.task_runs.range(made).map(|(_, row)| row).chain(items)
    }

    pub(super) fn stored_run(&self, run: RunId) -> Option<StoredRun> {
        let (row, cancel_requested) = self.runs.get(&run)?;
        let task_runs: Vec<TaskRunRow> = self.rows_of(run).cloned().collect();
        Some(StoredRun {
            row: row.clone(),
            cancel_requested: *cancel_requested,
            leases: task_runs.iter().filter_map(|row| self.leases.get(&row.id).cloned()).collect(),
            task_runs,
        })
    }

    pub(super) fn summaries(&self, filter: &RunFilter) -> Vec<RunSummary> {
        let matches = |row: &RunRow| {
            filter.dag.as_ref().is_none_or(|dag| *dag == row.dag)
                && filter.id.is_none_or(|id| id == row.id)
                && (filter.states.is_empty() || filter.states.contains(&row.state))
                && filter.biz_date_from.is_none_or(|from| row.biz_date >= from)
                && filter.biz_date_to.is_none_or(|to| row.biz_date <= to)
        };
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let found = self.runs.values().rev().map(|(row, _)| row).filter(|row| matches(row));
        found.take(limit).map(|row| self.summary(row)).collect()
    }

    fn summary(&self, row: &RunRow) -> RunSummary {
        let mut counts: BTreeMap<State, u32> = BTreeMap::new();
        for task_run in self.rows_of(row.id).filter(|row| !row.progress.is_removed()) {
            *counts.entry(task_run.progress.state).or_insert(0) += 1;
        }
        let holder = self.scopes.get(&row.scope_id);
        RunSummary {
            row: row.clone(),
            counts: counts.into_iter().collect(),
            node: holder.and_then(|scope| self.nodes.get(&scope.node_id)).cloned(),
        }
    }

    pub(super) fn task_run_views(&self, run: RunId) -> Vec<TaskRunView> {
        let view = |row: &TaskRunRow| {
            Some(TaskRunView {
                row: row.clone(),
                task: self.tasks.get(&row.task_id)?.name.clone(),
                version: self.versions.get(&row.task_version_id)?.number,
                kind: self.versions.get(&row.task_version_id)?.def.kind.clone(),
            })
        };
        self.rows_of(run).filter_map(view).collect()
    }

    pub(super) fn attempt_rows(&self, filter: &AttemptFilter) -> Vec<AttemptRow> {
        let ids: Vec<TaskRunId> = match filter {
            AttemptFilter::TaskRun(id) => vec![*id],
            AttemptFilter::Run(run) => self.rows_of(*run).map(|row| row.id).collect(),
        };
        let of = |id: TaskRunId| self.attempts.range((id, 0)..=(id, u32::MAX));
        let mut rows: Vec<AttemptRow> =
            ids.into_iter().flat_map(of).map(|(_, row)| row.clone()).collect();
        rows.sort_by_key(|row| row.id);
        for row in &mut rows {
            // What it held is known only while it is live.
            let lease = self.leases.get(&row.start.task_run_id);
            let held = lease.filter(|lease| lease.attempt_no == row.start.attempt_no);
            row.start.slots = held.map_or(0, |lease| lease.slots);
            row.start.pool = held.and_then(|lease| lease.pool.clone());
            row.start.limits = Vec::new();
        }
        rows
    }
}
