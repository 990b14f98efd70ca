//! Registering definitions: what is there already, what is wrong, and only then what to write.

use std::collections::BTreeMap;

use super::client::{self, Connection, OptionalExtension, params};

use super::errors::Fault;
use super::read::{self, KnownSchedule};
use super::schedule_rows as schedules;
use super::texts;
use super::{register_rows as write, releases, upstreams};
use crate::model::{DagDef, EdgeKind, Instant, Problem, ScheduleDef, SpecError, TaskDef};
use crate::store::definition::{self, Choice, Content, Registered};
use crate::store::{RegisteredDag, StoreError, release};

/// A dag and how it stands.
struct Known<'a> {
    dag: &'a DagDef,
    header: String,
    id: Option<i64>,
    same_header: bool,
    tasks: BTreeMap<String, KnownTask>,
    schedules: Vec<KnownSchedule>,
    /// Which of those each schedule of the definition is.
    matched: Vec<Option<usize>>,
}

struct KnownTask {
    id: i64,
    position: u32,
    source: Option<String>,
    removed: bool,
    /// What was registered last.
    registered: u32,
    hash: [u8; 16],
    /// Whether somebody chose the version that runs take.
    held: bool,
    resource: (Option<String>, Option<String>),
}

/// What becomes of a task.
struct Change<'a> {
    def: &'a TaskDef,
    position: u32,
    content: Content,
    choice: Choice,
    task_id: Option<i64>,
}

pub(super) fn register(
    conn: &Connection,
    dags: &[DagDef],
    now: Instant,
) -> Result<Vec<RegisteredDag>, Fault> {
    let mut known = Vec::with_capacity(dags.len());
    let mut changes = Vec::with_capacity(dags.len());
    let mut problems = Vec::new();
    for dag in dags {
        let of = |fault: Fault| fault.of(&format!("dag {}", dag.key));
        let stored = look(conn, dag).map_err(of)?;
        changes.push(changed_tasks(conn, &stored, &mut problems).map_err(of)?);
        known.push(stored);
    }
    let changes_anything = known.iter().zip(&changes).any(|(known, tasks)| known.changes(tasks));
    if changes_anything || !problems.is_empty() {
        problems.extend(definition::check(dags, &mut |key| edges_of(conn, key), &mut |asset| {
            upstreams::producer(conn, asset)
        })?);
        if problems.is_empty() {
            problems.extend(chosen(conn, &known)?);
        }
    }
    if !problems.is_empty() {
        return Err(SpecError(problems).into());
    }
    if changes_anything {
        write_all(conn, &known, &mut changes, now)?;
    }
    let mut registered = Vec::with_capacity(dags.len());
    for dag in dags {
        let found = read::dag(conn, &dag.key);
        match found.map_err(|fault| fault.of(&format!("dag {}", dag.key)))? {
            Some(found) => registered.push(found),
            None => return Err(StoreError::Other(format!("dag {} is gone", dag.key)).into()),
        }
    }
    Ok(registered)
}

/// What is wrong with the versions that somebody chose, beside what the other tasks are now.
fn chosen(conn: &Connection, known: &[Known<'_>]) -> Result<Vec<Problem>, Fault> {
    if !known.iter().any(Known::is_held) {
        return Ok(Vec::new());
    }
    let mut all = Vec::with_capacity(known.len());
    let mut combined = Vec::with_capacity(known.len());
    let mut problems = Vec::new();
    for known in known {
        let held = known.id.map(|id| releases::held(conn, id)).transpose()?.unwrap_or_default();
        combined.push(release::combined(known.dag, &held));
        problems.extend(release::given(known.dag, &held));
        all.extend(held.into_iter().map(|held| (known.dag.key.clone(), held)));
    }
    problems.extend(definition::check(&combined, &mut |key| edges_of(conn, key), &mut |asset| {
        upstreams::producer(conn, asset)
    })?);
    Ok(release::explained(problems, &all))
}

impl Known<'_> {
    /// Whether a version was chosen of one of the tasks that are defined.
    fn is_held(&self) -> bool {
        self.dag.tasks.iter().any(|def| self.holds(&def.name))
    }

    fn holds(&self, name: &str) -> bool {
        self.tasks.get(name).is_some_and(|task| task.held)
    }

    fn removed_tasks(&self) -> impl Iterator<Item = &KnownTask> {
        self.tasks
            .iter()
            .filter(|(name, task)| {
                !task.removed && !self.dag.tasks.iter().any(|def| def.name == **name)
            })
            .map(|(_, task)| task)
    }

    fn removed_schedules(&self) -> impl Iterator<Item = &KnownSchedule> {
        self.schedules
            .iter()
            .enumerate()
            .filter(|(at, stored)| !stored.removed && !self.matched.contains(&Some(*at)))
            .map(|(_, stored)| stored)
    }

    fn changes(&self, tasks: &[Change<'_>]) -> bool {
        !self.same_header
            || !tasks.is_empty()
            || self.removed_tasks().next().is_some()
            || self.removed_schedules().next().is_some()
            || self.changed_schedules().next().is_some()
    }

    /// Schedules that are not as they are stored: position, definition, and what is stored.
    fn changed_schedules(
        &self,
    ) -> impl Iterator<Item = (u32, &ScheduleDef, Option<&KnownSchedule>)> {
        let stored = self.matched.iter().map(|at| at.and_then(|at| self.schedules.get(at)));
        (0u32..)
            .zip(&self.dag.schedules)
            .zip(stored)
            .map(|((at, def), stored)| (at, def, stored))
            .filter(|(position, def, stored)| {
                stored.is_none_or(|stored| {
                    stored.removed
                        || stored.position != *position
                        || definition::edited(&stored.def, def)
                })
            })
    }
}

fn look<'a>(conn: &Connection, dag: &'a DagDef) -> Result<Known<'a>, Fault> {
    let header = definition::to_json(&definition::header(dag))?;
    let found = conn
        .prepare_cached(texts::DAG_READ)?
        .query_row([&dag.key], |row| {
            let is_there = row.get::<_, Option<i64>>(3)?.is_none();
            Ok((row.get::<_, i64>(0)?, is_there && row.get_ref(1)?.as_str()? == header))
        })
        .optional()?;
    let Some((id, same_header)) = found else {
        return Ok(Known {
            dag,
            header,
            id: None,
            same_header: false,
            tasks: BTreeMap::new(),
            schedules: Vec::new(),
            matched: vec![None; dag.schedules.len()],
        });
    };
    let mut select = conn.prepare_cached(texts::TASK_OF_DAG)?;
    let tasks = select.query_map([id], |row| {
        let task = KnownTask {
            id: row.get(0)?,
            position: row.get(2)?,
            source: row.get(3)?,
            removed: row.get::<_, Option<i64>>(4)?.is_some(),
            registered: row.get(6)?,
            hash: row.get(7)?,
            held: row.get::<_, Option<i64>>(10)?.is_some(),
            resource: (row.get(8)?, row.get(9)?),
        };
        Ok((row.get(1)?, task))
    })?;
    let tasks = tasks.collect::<Result<_, _>>()?;
    let schedules = read::schedules(conn, id)?;
    let names: Vec<&str> = schedules.iter().map(|stored| stored.def.name.as_str()).collect();
    let matched = definition::matched(&names, &dag.schedules);
    Ok(Known { dag, header, id: Some(id), same_header, tasks, schedules, matched })
}

/// The tasks of a dag that are not as they are registered.
fn changed_tasks<'a>(
    conn: &Connection,
    known: &Known<'a>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Change<'a>>, Fault> {
    let mut changes = Vec::new();
    for (position, def) in (0u32..).zip(&known.dag.tasks) {
        let content = Content::of(def)?;
        let stored = known.tasks.get(&def.name);
        let choice = match stored {
            None => Choice::New(def.authored_version.unwrap_or(1)),
            Some(task) => {
                let is_same = task.hash == content.hash
                    && def.authored_version.is_none_or(|number| number == task.registered);
                if is_same {
                    if !task.removed && task.position == position && task.source == def.source {
                        continue;
                    }
                    Choice::Known(task.registered)
                } else {
                    let versions = write::versions(conn, task.id)?;
                    definition::choose(
                        def.authored_version,
                        &content.hash,
                        &versions,
                        Some(task.registered),
                    )
                }
            }
        };
        if let Choice::Refused(version) = choice {
            problems.push(definition::content_changed(&known.dag.key, &def.name, version));
            continue;
        }
        let task_id = stored.map(|task| task.id);
        changes.push(Change { def, position, content, choice, task_id });
    }
    Ok(changes)
}

pub(super) fn edges_of(conn: &Connection, key: &str) -> Result<Option<Registered>, Fault> {
    let mut select = conn.prepare_cached(texts::EDGE_OF_DAG)?;
    let mut rows = select.query([key])?;
    let mut found = Registered::default();
    while let Some(row) = rows.next()? {
        let task = row.get_ref(0)?.as_str().map_err(client::Error::from)?;
        if found.tasks.last().is_none_or(|last| last != task) {
            found.tasks.push(task.to_owned());
        }
        let (Some(upstream), Some(kind)) =
            (row.get::<_, Option<String>>(1)?, super::rows::word_or_null::<EdgeKind>(row, 2)?)
        else {
            continue;
        };
        if kind != EdgeKind::Weak && row.get::<_, i32>(3)? >= 0 {
            found.edges.push((found.tasks.len() - 1, upstream));
        }
    }
    Ok((!found.tasks.is_empty()).then_some(found))
}

fn write_all(
    conn: &Connection,
    known: &[Known<'_>],
    changes: &mut [Vec<Change<'_>>],
    now: Instant,
) -> Result<(), Fault> {
    // All tasks first, so that edges find the ids of their upstreams whichever comes first.
    for (known, tasks) in known.iter().zip(changes.iter_mut()) {
        if !known.changes(tasks) {
            continue;
        }
        let id = write::dag(conn, known.id, known.dag, &known.header, now)?;
        if known.moves_resources(tasks) {
            conn.prepare_cached(texts::TASK_FREE_RESOURCE)?.execute([id])?;
        }
        for task in known.removed_tasks() {
            conn.prepare_cached(texts::TASK_REMOVE)?.execute([now.0, task.id])?;
        }
        for task in tasks.iter_mut().filter(|task| task.task_id.is_none()) {
            task.task_id = Some(write::task(conn, id, &known.dag.key, task.def, now)?);
        }
        for schedule in known.removed_schedules() {
            schedules::remove(conn, schedule.id, now)?;
        }
        let named = |name: &str| known.task_id(tasks, name);
        for (position, def, stored) in known.changed_schedules() {
            match stored {
                None => schedules::add(conn, id, def, position, &named, now)?,
                Some(stored) => schedules::edit(conn, id, stored, def, position, &named, now)?,
            }
        }
    }
    for (known, tasks) in known.iter().zip(changes.iter()) {
        for task in tasks {
            let Some(id) = task.task_id else { continue };
            let version = match task.choice {
                Choice::New(number) => {
                    write::version(conn, id, number, task.def, &task.content, now)?
                }
                Choice::Known(number) | Choice::Refused(number) => {
                    write::version_id(conn, id, number)?
                }
            };
            if known.holds(&task.def.name) {
                write::registered(conn, (id, version), task.def, task.position, now)?;
            } else {
                write::activate(conn, (id, version), task.def, task.position, now)?;
            }
        }
        // Resources of tasks that did not change were taken away for a moment.
        if known.moves_resources(tasks) {
            known.restore_resources(conn, tasks)?;
        }
    }
    Ok(())
}

impl Known<'_> {
    /// The id of a task of the definition, once its row is there.
    fn task_id(&self, tasks: &[Change<'_>], name: &str) -> Option<i64> {
        let stored = self.tasks.get(name).map(|task| task.id);
        stored.or_else(|| tasks.iter().find(|task| task.def.name == name)?.task_id)
    }

    /// Whether a resource passes from one task to another: their rows are then free of any for a
    /// moment, because the unique index looks at each row by itself.
    fn moves_resources(&self, tasks: &[Change<'_>]) -> bool {
        tasks.iter().filter(|task| !self.holds(&task.def.name)).any(|task| {
            self.tasks.get(&task.def.name).is_none_or(|stored| {
                stored.resource != (task.def.resource.clone(), task.def.resource_key.clone())
            })
        }) && self.tasks.values().any(|task| task.resource.0.is_some())
    }

    fn restore_resources(&self, conn: &Connection, tasks: &[Change<'_>]) -> Result<(), Fault> {
        for def in &self.dag.tasks {
            let changed = tasks.iter().any(|task| task.def.name == def.name);
            if changed && !self.holds(&def.name) {
                continue;
            }
            if let Some(stored) = self.tasks.get(&def.name)
                && let (Some(resource), resource_key) = &stored.resource
            {
                conn.prepare_cached(texts::TASK_RESOURCE)?.execute(params![
                    resource,
                    resource_key,
                    stored.id
                ])?;
            }
        }
        Ok(())
    }
}
