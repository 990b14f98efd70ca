//! Which versions runs take: what stands, what was decided, and deciding.

use super::{Data, MemoryTask, next};
use crate::model::{
    DagId, Instant, Problem, ReleaseAsk, ReleaseRow, Share, SpecError, TaskId, TaskVersionId,
    VersionRow,
};
use crate::store::definition::{self, full_key};
use crate::store::release::{Standing, combined, explained, given, standing_def};
use crate::store::verify::Findings;
use crate::store::{Held, StoreError};

impl Data {
    fn open_release(&self, key: &str) -> Option<&ReleaseRow> {
        self.releases.values().find(|row| row.task == key && row.ended_at.is_none())
    }

    pub(super) fn is_held(&self, id: TaskId) -> bool {
        self.tasks.get(&id).is_some_and(|task| self.open_release(&self.key_of(task)).is_some())
    }

    fn key_of(&self, task: &MemoryTask) -> String {
        let dag = self.dags.get(&task.dag).map_or("", |dag| dag.header.key.as_str());
        full_key(dag, &task.name)
    }

    fn version_id(&self, task: TaskId, number: u32) -> Option<TaskVersionId> {
        let mut versions = self.versions.iter();
        versions.find(|(_, row)| row.task == task && row.number == number).map(|(id, _)| *id)
    }

    /// Tasks of a dag whose version somebody chose; those too that are not in it at the moment.
    pub(super) fn held(&self, dag: DagId) -> Vec<Held> {
        let mut tasks: Vec<_> = self.tasks.iter().filter(|(_, task)| task.dag == dag).collect();
        tasks.sort_by_key(|(id, task)| (task.position, **id));
        let held = |(id, task): &(&TaskId, &MemoryTask)| {
            let open = self.open_release(&self.key_of(task))?;
            let other =
                |share: Share| Some((share, self.version(self.version_id(**id, open.version)?)?));
            Some(Held { active: self.version(task.active)?, other: open.share.and_then(other) })
        };
        tasks.iter().filter_map(held).collect()
    }

    pub(super) fn releases_of(&self, dag: DagId) -> Vec<ReleaseRow> {
        let Some(dag) = self.dags.get(&dag) else { return Vec::new() };
        let of_dag = |row: &&ReleaseRow| {
            row.task.split_once('.').is_some_and(|(key, _)| key == dag.header.key)
        };
        self.releases.values().rev().filter(of_dag).cloned().collect()
    }

    pub(super) fn task_versions(&self, key: &str) -> Vec<VersionRow> {
        let Some((id, task)) = self.tasks.iter().find(|(_, task)| self.key_of(task) == key) else {
            return Vec::new();
        };
        let of_task = self.versions.iter().filter(|(_, row)| row.task == *id);
        let mut rows: Vec<VersionRow> = of_task
            .map(|(version, row)| VersionRow {
                version: row.number,
                created_at: row.created_at,
                kind: row.def.kind.clone(),
                handler: row.def.handler.clone(),
                code_hash: row.def.code_hash.clone(),
                active: *version == task.active,
                registered: *version == task.registered,
                source: task.source.clone().filter(|_| *version == task.registered),
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.version));
        rows
    }

    pub(super) fn keep_code(&mut self, code: &[(&str, &str)]) {
        for (dag, code) in code {
            let Some(dag) = self.find_dag(dag) else { continue };
            for task in self.tasks.values().filter(|task| task.dag == dag && !task.removed) {
                if let Some(version) = self.versions.get_mut(&task.registered) {
                    version.code = Some((*code).to_owned());
                }
            }
        }
    }

    pub(super) fn release(
        &mut self,
        key: &str,
        ask: ReleaseAsk,
        by: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let found = self.tasks.iter().find(|(_, task)| self.key_of(task) == key && !task.removed);
        let Some((id, task)) = found.map(|(id, task)| (*id, task.clone())) else {
            let message = "there is no such task";
            return Err(SpecError::from(Problem::new("unknown_task", key, message)).into());
        };
        let of_task = self.versions.values().filter(|row| row.task == id);
        let mut versions: Vec<u32> = of_task.map(|row| row.number).collect();
        versions.sort_unstable();
        let number = |version| self.versions.get(&version).map_or(0, |row| row.number);
        let standing = Standing {
            task: key.to_owned(),
            versions,
            registered: number(task.registered),
            active: number(task.active),
            open: self.open_release(key).map(|row| (row.version, row.share)),
        };
        let settled = standing.settle(ask).map_err(SpecError::from)?;
        if standing.is(&settled) {
            return Ok(false);
        }
        let mut copy = self.clone();
        for row in copy.releases.values_mut().filter(|row| row.task == key) {
            if row.ended_at.is_none() {
                row.ended_at = Some(now);
                row.ended_by = by.map(str::to_owned);
            }
        }
        if let Some((version, share)) = settled.open {
            let row = ReleaseRow {
                id: next(&copy.releases, |id| id),
                task: key.to_owned(),
                version,
                share,
                base: share.map(|_| settled.active),
                created_by: by.map(str::to_owned),
                created_at: now,
                ended_by: None,
                ended_at: None,
            };
            copy.releases.insert(row.id, row);
        }
        let active = copy.version_id(id, settled.active);
        if let (Some(task), Some(active)) = (copy.tasks.get_mut(&id), active) {
            task.active = active;
        }
        copy.check_chosen(&[task.dag])?;
        if let Some(dag) = copy.dags.get_mut(&task.dag) {
            dag.revision += 1;
        }
        *self = copy;
        Ok(true)
    }

    /// Whether each task runs what was chosen, else what was registered last.
    pub(super) fn verify_releases(&self, findings: &mut Findings) {
        for (id, task) in &self.tasks {
            let key = self.key_of(task);
            let meant = match self.open_release(&key) {
                Some(open) => self.version_id(*id, open.base.unwrap_or(open.version)),
                None => Some(task.registered),
            };
            if meant != Some(task.active) {
                findings.note("S3", format!("task {key} runs another version than was chosen"));
            }
        }
    }

    /// Whether the versions that runs would be made of fit together.
    pub(super) fn check_chosen(&self, dags: &[DagId]) -> Result<(), StoreError> {
        let mut all = Vec::new();
        let mut problems = Vec::new();
        let mut defs = Vec::with_capacity(dags.len());
        for id in dags {
            let key = self.dags.get(id).map_or("", |dag| dag.header.key.as_str());
            let Some(found) = self.dag(key) else { continue };
            let standing = standing_def(&found);
            problems.extend(given(&standing, &found.held));
            defs.push(combined(&standing, &found.held));
            all.extend(found.held.into_iter().map(|held| (key.to_owned(), held)));
        }
        if all.is_empty() {
            return Ok(());
        }
        let edges = &mut |key: &str| Ok(self.edges_of(key));
        let producer = &mut |asset: &str| Ok(self.producer(asset));
        problems.extend(definition::check::<StoreError>(&defs, edges, producer)?);
        if problems.is_empty() {
            return Ok(());
        }
        Err(SpecError(explained(problems, &all)).into())
    }
}
