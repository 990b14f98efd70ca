//! Registering definitions.

use super::{Data, MemoryDag, MemoryTask, MemoryVersion, next};
use crate::model::{DagDef, DagId, Instant, Problem, SpecError, TaskDef, TaskId, TaskVersionId};
use crate::store::definition::{self, Choice, Content, Registered};
use crate::store::{RegisteredDag, StoreError, release};

impl Data {
    /// Works on a copy, which takes the place of the store only if nothing is wrong.
    pub(super) fn register(
        &mut self,
        dags: &[DagDef],
        now: Instant,
    ) -> Result<Vec<RegisteredDag>, StoreError> {
        let mut copy = self.clone();
        let mut problems = Vec::new();
        let mut changed = Vec::with_capacity(dags.len());
        // Rows in the order in which a database makes them: all tasks before any version.
        for dag in dags {
            changed.push(copy.register_dag(dag, now));
        }
        for (dag, changed) in dags.iter().zip(&mut changed) {
            *changed |= copy.register_versions(dag, now, &mut problems)?;
        }
        if changed.contains(&true) || !problems.is_empty() {
            let found = definition::check::<StoreError>(
                dags,
                &mut |key| Ok(self.edges_of(key)),
                &mut |asset| Ok(self.producer(asset)),
            )?;
            problems.extend(found);
            if problems.is_empty() {
                let ids = dags.iter().filter_map(|dag| copy.find_dag(&dag.key));
                copy.check_chosen(&ids.collect::<Vec<_>>())?;
            }
        }
        for (dag, _) in dags.iter().zip(&changed).filter(|(_, changed)| **changed) {
            let id = copy.find_dag(&dag.key);
            if let Some(dag) = id.and_then(|id| copy.dags.get_mut(&id)) {
                dag.revision += 1;
            }
        }
        if !problems.is_empty() {
            return Err(SpecError(problems).into());
        }
        *self = copy;
        Ok(dags.iter().filter_map(|dag| self.dag(&dag.key)).collect())
    }

    pub(super) fn find_dag(&self, key: &str) -> Option<DagId> {
        self.dags.iter().find(|(_, dag)| dag.header.key == key).map(|(id, _)| *id)
    }

    pub(super) fn find_task(&self, dag: DagId, name: &str) -> Option<TaskId> {
        let mut tasks = self.tasks.iter();
        tasks.find(|(_, task)| task.dag == dag && task.name == name).map(|(id, _)| *id)
    }

    /// The dag, its schedules, and which tasks it has.
    fn register_dag(&mut self, def: &DagDef, now: Instant) -> bool {
        let header = definition::header(def);
        let known = self.find_dag(&def.key);
        let id = known.unwrap_or(DagId(next(&self.dags, |id| id.0)));
        let mut changed = known.is_none();
        let dag = self.dags.entry(id).or_insert_with(|| MemoryDag {
            header: header.clone(),
            revision: 0,
            removed: false,
        });
        if dag.header != header || dag.removed {
            dag.header = header;
            dag.removed = false;
            changed = true;
        }
        for task in self.tasks.values_mut().filter(|task| task.dag == id && !task.removed) {
            if !def.tasks.iter().any(|given| given.name == task.name) {
                task.removed = true;
                changed = true;
            }
        }
        for (position, task) in def.tasks.iter().enumerate() {
            if self.find_task(id, &task.name).is_none() {
                let task = MemoryTask {
                    dag: id,
                    name: task.name.clone(),
                    position,
                    source: None,
                    active: TaskVersionId(0),
                    registered: TaskVersionId(0),
                    removed: false,
                    enabled: true,
                    since: now,
                };
                self.tasks.insert(TaskId(next(&self.tasks, |id| id.0)), task);
            }
        }
        changed |= self.register_schedules(id, &def.schedules, now);
        changed
    }

    fn register_versions(
        &mut self,
        def: &DagDef,
        now: Instant,
        problems: &mut Vec<Problem>,
    ) -> Result<bool, StoreError> {
        let Some(dag) = self.find_dag(&def.key) else { return Ok(false) };
        let mut changed = false;
        for (position, task) in def.tasks.iter().enumerate() {
            let Some(id) = self.find_task(dag, &task.name) else { continue };
            changed |= self.register_version(id, &def.key, (task, position), now, problems)?;
        }
        Ok(changed)
    }

    fn register_version(
        &mut self,
        id: TaskId,
        dag: &str,
        (def, position): (&TaskDef, usize),
        now: Instant,
        problems: &mut Vec<Problem>,
    ) -> Result<bool, StoreError> {
        let content = Content::of(def)?;
        let versions: Vec<(u32, [u8; 16])> = self
            .versions
            .values()
            .filter(|version| version.task == id)
            .map(|version| (version.number, version.hash))
            .collect();
        let registered = self.tasks.get(&id).and_then(|task| self.versions.get(&task.registered));
        let registered = registered.map(|version| version.number);
        let choice = definition::choose(def.authored_version, &content.hash, &versions, registered);
        let version = match choice {
            Choice::Refused(number) => {
                problems.push(definition::content_changed(dag, &def.name, number));
                return Ok(false);
            }
            Choice::New(number) => {
                let version = TaskVersionId(next(&self.versions, |id| id.0));
                let (hash, def, created_at) = (content.hash, def.clone(), now);
                let row = MemoryVersion { task: id, number, hash, def, created_at, code: None };
                self.versions.insert(version, row);
                version
            }
            Choice::Known(number) => {
                let mut known = self.versions.iter();
                let found = known.find(|(_, row)| row.task == id && row.number == number);
                found.map_or(TaskVersionId(0), |(id, _)| *id)
            }
        };
        let held = self.is_held(id);
        let Some(task) = self.tasks.get_mut(&id) else { return Ok(false) };
        let is_same = task.registered == version
            && task.position == position
            && task.source == def.source
            && !task.removed;
        task.registered = version;
        if !held {
            task.active = version;
        }
        task.position = position;
        task.source = def.source.clone();
        task.removed = false;
        Ok(!is_same)
    }

    pub(super) fn edges_of(&self, key: &str) -> Option<Registered> {
        let dag = self.dag(key)?;
        let mut found = Registered::default();
        let def = release::combined(&release::standing_def(&dag), &dag.held);
        for (at, task) in def.tasks.iter().enumerate() {
            found.tasks.push(definition::full_key(key, &task.name));
            for edge in task.dependencies.iter().filter(|edge| edge.can_close_a_cycle()) {
                let upstream = match edge.asset() {
                    Some(asset) => self.producer(asset),
                    None => Some(edge.upstream.clone()),
                };
                if let Some(upstream) = upstream.filter(|key| self.is_active(key)) {
                    found.edges.push((at, upstream));
                }
            }
        }
        Some(found)
    }

    fn is_active(&self, key: &str) -> bool {
        let Some((dag, task)) = key.split_once('.') else { return false };
        let id = self.find_dag(dag).and_then(|dag| self.find_task(dag, task));
        id.and_then(|id| self.tasks.get(&id)).is_some_and(|task| !task.removed)
    }
}
