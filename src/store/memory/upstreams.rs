//! What edges look at in other runs: tasks with the lives of their schedules, runs, and assets.

use std::collections::{BTreeMap, BTreeSet};

use super::{Data, MemoryTask};
use crate::model::{
    Date, Dependency, EdgeKind, Instant, RunId, RunRow, ScopeId, State, TaskDef, TaskId, TaskRunRow,
};
use crate::store::definition::{self, NOT_SELECTED, UNCHANGED, full_key};
use crate::store::{DependentEdge, EndsAsked, RunsAt, StoreError, UpstreamRun, UpstreamTask};

impl Data {
    fn task_of(&self, key: &str) -> Option<(TaskId, &MemoryTask)> {
        let (dag, name) = key.split_once('.')?;
        let id = self.find_task(self.find_dag(dag)?, name)?;
        Some((id, self.tasks.get(&id)?))
    }

    pub(super) fn upstream(&self, key: &str) -> Option<UpstreamTask> {
        let (id, task) = self.task_of(key)?;
        let dag = self.dags.get(&task.dag)?;
        let mut known: Vec<_> = self.schedules.iter().filter(|(_, s)| s.dag == task.dag).collect();
        known.sort_by_key(|(id, schedule)| (schedule.position, **id));
        let standing: Vec<_> = known.iter().map(|(_, s)| (&s.def, s.removed)).collect();
        let fires = definition::fires(&standing, &task.name);
        let lives = fires
            .iter()
            .filter_map(|(nth, def)| Some(((*def).clone(), known.get(*nth)?.1.periods.clone())));
        Some(UpstreamTask {
            task: id,
            timezone: dag.header.timezone.clone(),
            biz_offset: dag.header.biz_offset,
            schedules: lives.collect(),
            since: task.since,
            removed: task.removed || dag.removed,
            is_probe: (self.versions.get(&task.active))
                .is_some_and(|version| version.def.kind == definition::PROBE),
            produces: self.produces(task).into_iter().collect(),
        })
    }

    fn produces(&self, task: &MemoryTask) -> BTreeSet<String> {
        let version = self.versions.get(&task.active);
        version.map(|version| version.def.produces.iter().cloned().collect()).unwrap_or_default()
    }

    pub(super) fn producer(&self, asset: &str) -> Option<String> {
        let mut tasks = self.tasks.values().filter(|task| !task.removed);
        let task = tasks.find(|task| self.produces(task).contains(asset))?;
        Some(full_key(&self.dags.get(&task.dag)?.header.key, &task.name))
    }

    pub(super) fn upstream_runs(&self, task: TaskId, at: &RunsAt) -> Vec<UpstreamRun> {
        let counts = |row: &&TaskRunRow| {
            let is_there = match at {
                RunsAt::Date(date) => row.biz_date == *date,
                RunsAt::Fires(fires) => fires.contains(&row.nominal_at),
            };
            let is_chosen = row.progress.code.as_deref() != Some(NOT_SELECTED);
            row.task_id == task && is_there && is_chosen
        };
        let mut rows: Vec<&TaskRunRow> = self.task_runs.values().filter(counts).collect();
        rows.sort_by_key(|row| (row.nominal_at, row.run_id, std::cmp::Reverse(row.map_index)));
        let mut newest: BTreeMap<Instant, UpstreamRun> = BTreeMap::new();
        let runs = rows.into_iter().map(|row| UpstreamRun {
            run: row.run_id,
            task_run: row.id,
            nominal_at: row.nominal_at,
            state: row.progress.state,
            code: row.progress.code.clone(),
            blocked_by: row.progress.blocked_by,
            result: row.progress.result.clone(),
            result_uri: row.progress.result_uri.clone(),
            attempt_no: row.progress.attempt_no,
            unchanged: row.progress.unchanged,
            output: (row.run_id, row.id),
        });
        for mut run in runs {
            let before = newest.remove(&run.nominal_at);
            if let Some(before) = before.filter(|_| run.code.as_deref() == Some(UNCHANGED)) {
                run.keep(before);
            }
            newest.insert(run.nominal_at, run);
        }
        newest.into_values().collect()
    }

    pub(super) fn upstream_ends(&self, asked: &EndsAsked) -> Vec<(RunRow, UpstreamRun)> {
        let of_task = self.task_runs.values().filter(|row| row.task_id == asked.task);
        let fires: Vec<Instant> = of_task.map(|row| row.nominal_at).collect();
        let is_made = |at: Instant| {
            let mut runs = self.runs.values().map(|(row, _)| row);
            runs.any(|row| row.dag_id == asked.follower && row.nominal_at == at && row.timed)
        };
        let ended = |run: &UpstreamRun| {
            let row = self.task_runs.get(&run.task_run);
            let at = row.and_then(|row| row.progress.finished_at);
            at.is_some_and(|at| at > asked.since)
        };
        let runs = self.upstream_runs(asked.task, &RunsAt::Fires(fires)).into_iter();
        let open = runs.filter(|run| ended(run) && !is_made(run.nominal_at));
        open.filter_map(|run| Some((self.runs.get(&run.run)?.0.clone(), run))).collect()
    }

    pub(super) fn so_since(
        &self,
        task: TaskId,
        is_so: &dyn Fn(&TaskDef) -> bool,
    ) -> Option<Instant> {
        let active = self.versions.get(&self.tasks.get(&task)?.active)?.number;
        let of_task = self.versions.values().filter(|it| it.task == task && it.number <= active);
        let mut versions: Vec<_> = of_task.collect();
        versions.sort_by_key(|version| std::cmp::Reverse(version.number));
        let so = versions.into_iter().take_while(|version| is_so(&version.def));
        so.last().map(|version| version.created_at)
    }

    pub(super) fn dependents(&self, task: TaskId) -> Vec<DependentEdge> {
        let Some(of) = self.tasks.get(&task) else { return Vec::new() };
        let dag = self.dags.get(&of.dag).map_or("", |dag| dag.header.key.as_str());
        let (key, assets) = (full_key(dag, &of.name), self.produces(of));
        let looks = |edge: &&Dependency| {
            let asset = edge.asset().is_some_and(|asset| assets.contains(asset));
            edge.kind != EdgeKind::Weak && (edge.upstream == key || asset)
        };
        let mut found = Vec::new();
        for (id, other) in self.tasks.iter().filter(|(_, task)| !task.removed) {
            let version = self.versions.get(&other.active);
            let edges = version.into_iter().flat_map(|version| &version.def.dependencies);
            found.extend(edges.filter(looks).map(|edge| DependentEdge {
                task: *id,
                from: edge.offset_from,
                to: edge.offset_to,
                unit: edge.offset_unit,
            }));
        }
        found
    }

    pub(super) fn declare(&mut self, asset: &str, date: Date) -> Result<bool, StoreError> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for task in self.tasks.values() {
            known.extend(self.produces(task));
            let version = self.versions.get(&task.active);
            let edges = version.into_iter().flat_map(|version| &version.def.dependencies);
            known.extend(edges.filter_map(|edge| edge.asset()).map(str::to_owned));
        }
        if !known.contains(asset) {
            let known: Vec<String> = known.into_iter().collect();
            return Err(definition::unknown_asset(asset, &known).into());
        }
        Ok(self.declared.insert((asset.to_owned(), date)))
    }

    pub(super) fn enable(&mut self, key: &str, enabled: bool) -> Result<bool, StoreError> {
        let found = self.task_of(key).filter(|(_, task)| !task.removed).map(|(id, _)| id);
        let task = found.and_then(|id| self.tasks.get_mut(&id));
        let Some(task) = task else { return Err(definition::unknown_task(key).into()) };
        let changed = task.enabled != enabled;
        task.enabled = enabled;
        let dag = task.dag;
        if let Some(dag) = self.dags.get_mut(&dag).filter(|_| changed) {
            dag.revision += 1;
        }
        Ok(changed)
    }

    pub(super) fn blocked_runs(&self, scope: ScopeId) -> Vec<RunId> {
        let blocked = self.task_runs.values().filter(|row| row.progress.state == State::Blocked);
        let runs: BTreeSet<RunId> = blocked.map(|row| row.run_id).collect();
        let ours = |run: &RunId| self.runs.get(run).is_some_and(|(row, _)| row.scope_id == scope);
        runs.into_iter().filter(ours).collect()
    }
}
