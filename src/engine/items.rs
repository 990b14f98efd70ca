//! Mapped tasks: one task run for the whole, at its place in the plan, and one for each item.
//!
//! Items are appended to the task runs of their run when the whole is expanded; the graph knows
//! only the whole. What an item does to it is a change of a few counts, however many there are.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::run::{Run, Tally, TaskRun};
use super::{TaskRunRef, World};
use crate::model::{MOST_ITEMS, Over, Progress, State, TaskRunId, TaskRunRow};

/// What a task run is in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The task of the plan with its index.
    Single,
    /// The same for a mapped task: it stands for all its items.
    Mapped(Items),
    /// An item of a mapped task.
    Item {
        /// Index of what stands for them all.
        of: u32,
        /// Its own place among them.
        map_index: u32,
    },
}

/// The items of a mapped task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// Their indexes in the run, by their place in the list. Those that the list does not have
    /// any more are among them, at the end.
    pub(super) indexes: Vec<u32>,
    /// Of those that the list has.
    pub(super) tally: Tally,
}

impl Items {
    /// How many there are, those that were removed included.
    pub fn len(&self) -> u32 {
        self.indexes.len() as u32
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }
}

impl Tally {
    /// How many can still become something else.
    pub(super) fn open(&self) -> u32 {
        self.sum(|state| !state.is_final())
    }

    pub(super) fn ended_badly(&self) -> u32 {
        self.sum(State::ended_badly)
    }

    pub(super) fn all(&self) -> u32 {
        self.sum(|_| true)
    }

    /// What an item was and is; what was removed does not count.
    pub(super) fn item(&mut self, from: &Progress, to: &Progress) {
        if !from.is_removed() {
            self.less(from.state);
        }
        if !to.is_removed() {
            self.add(to.state);
        }
    }
}

/// Something whose value the engine does not have at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// JSON text.
    Text(Arc<str>),
    /// The file that holds the JSON text.
    File(String),
    /// There is none.
    Nothing,
}

impl Kept {
    /// The result of a task run.
    pub fn result(progress: &Progress) -> Kept {
        match (&progress.result, &progress.result_uri) {
            (Some(text), _) => Kept::Text(Arc::clone(text)),
            (None, Some(uri)) => Kept::File(uri.clone()),
            (None, None) => Kept::Nothing,
        }
    }
}

/// What has to be read before a mapped task can go on; whoever drives the world reads it, because
/// the engine opens no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// Its list: [`Event::Expand`](super::Event::Expand) is asked for.
    List(Kept),
    /// Its list, which is the result of a task run of another run: `Expand` is asked for.
    ListOf(TaskRunId),
    /// The results of its items in their order: [`Event::Collect`](super::Event::Collect) is.
    Results(Vec<Kept>),
}

/// Why a mapped task cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoList {
    /// In a code.
    pub code: &'static str,
    /// In words.
    pub why: String,
}

/// The items of a list in JSON text, each as it stands there.
///
/// # Errors
/// It is none, or it has too many items.
pub fn items_of(text: &str) -> Result<Vec<Arc<str>>, NoList> {
    let no_list = |what: &str| NoList {
        code: "NOT_A_LIST",
        why: format!("a task is mapped over a list, and this is {what}"),
    };
    let start = text.trim_start().chars().next();
    if start != Some('[') {
        return Err(no_list(match start {
            Some('{') => "an object",
            Some('"') => "text",
            Some('t' | 'f') => "true or false",
            Some('n') => "null",
            _ => "a number",
        }));
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| no_list(&format!("not readable: {error}")))?;
    if items.len() > MOST_ITEMS {
        return Err(NoList {
            code: "TOO_MANY_ITEMS",
            why: format!("the list has {} items, at most {MOST_ITEMS} fit", items.len()),
        });
    }
    Ok(items.into_iter().map(|item| Arc::from(item.get())).collect())
}

impl Run {
    /// What stands for all items, where this index is that of an item; else the index itself.
    pub fn planned(&self, index: u32) -> u32 {
        match self.get(index).map(|task_run| &task_run.place) {
            Some(Place::Item { of, .. }) => *of,
            _ => index,
        }
    }

    /// The items of a mapped task; none of anything else.
    pub fn items(&self, index: u32) -> Option<&Items> {
        match &self.get(index)?.place {
            Place::Mapped(items) => Some(items),
            _ => None,
        }
    }

    /// The index of an item by its place in the list.
    pub fn item(&self, of: u32, map_index: u32) -> Option<u32> {
        self.items(of)?.indexes.get(map_index as usize).copied()
    }

    /// The name of a task, or of an item: `load[3]`.
    pub fn name(&self, index: u32) -> String {
        let name = self.task(index).map_or("", |task| &task.def.name);
        match self.get(index).map(|task_run| &task_run.place) {
            Some(Place::Item { map_index, .. }) => format!("{name}[{map_index}]"),
            _ => name.to_owned(),
        }
    }

    /// The row of an item as it stands.
    pub fn item_row(&self, index: u32) -> Option<TaskRunRow> {
        let (task_run, task) = (self.get(index)?, self.task(index)?);
        let Place::Item { map_index, .. } = task_run.place else { return None };
        Some(TaskRunRow {
            id: task_run.id,
            run_id: self.row.id,
            task_id: task.task_id,
            task_version_id: task.version_id,
            map_index: i32::try_from(map_index).unwrap_or(i32::MAX),
            nominal_at: self.row.nominal_at,
            biz_date: self.row.biz_date,
            created_at: task_run.created_at,
            progress: task_run.progress.clone(),
        })
    }

    /// Items of a mapped task that its list has, in the order of the list.
    pub fn listed(&self, index: u32) -> impl Iterator<Item = (u32, &TaskRun)> {
        let indexes = self.items(index).map_or(&[][..], |items| &items.indexes);
        let there = indexes.iter().filter_map(|index| Some((*index, self.get(*index)?)));
        there.filter(|(_, task_run)| !task_run.progress.is_removed())
    }

    fn list_of(&self, index: u32) -> Option<Kept> {
        let map = self.task(index)?.def.map.as_ref()?;
        let text = |value: Value| Kept::Text(value.to_string().into());
        Some(match &map.over {
            Over::Items(items) => text(Value::Array(items.clone())),
            Over::Shards(total) => text((0..*total).collect()),
            Over::Param(name) => {
                let mut params: Value = serde_json::from_str(&self.row.params).unwrap_or_default();
                let param = self.task(index)?.def.param_schema.iter().find(|p| p.name == *name);
                let default = || param.and_then(|param| param.default.clone());
                let given = params.get_mut(name).map(Value::take);
                text(given.or_else(default).unwrap_or_default())
            }
            Over::Result(name) => {
                let upstream = self.plan.graph.upstream(index).iter().find(|upstream| {
                    self.task(**upstream).is_some_and(|task| task.def.name == *name)
                });
                let Some(upstream) = upstream else { return Some(Kept::Nothing) };
                let progress = &self.get(*upstream)?.progress;
                match Kept::result(progress) {
                    // On a day on which the list is not made, nothing is on it.
                    Kept::Nothing if progress.state == State::Skipped => text(Value::Array(vec![])),
                    Kept::Nothing => text(Value::Null),
                    kept => kept,
                }
            }
        })
    }
}

impl TaskRun {
    /// Whether something has to be read before a mapped task goes on.
    pub(super) fn is_gathering(&self) -> bool {
        let Place::Mapped(items) = &self.place else { return false };
        match self.progress.state {
            State::Ready => self.counts.unmet == 0 && self.live.is_none(),
            State::Running => {
                self.live.is_none() && items.tally.open() + items.tally.ended_badly() == 0
            }
            _ => false,
        }
    }

    /// Whether it stands for items, and no attempt of its own is live.
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.place, Place::Mapped(_))
    }
}

impl World {
    /// A mapped task that can go on when something has been read; see [`World::gathering`].
    pub fn next_gathering(&self) -> Option<TaskRunRef> {
        self.gathering.first().copied().filter(|_| !self.interrupting)
    }

    /// What has to be read for it.
    pub fn gathering(&self, at: TaskRunRef) -> Option<Gathering> {
        let run = self.runs.get(&at.run)?;
        let task_run = run.get(at.index).filter(|task_run| task_run.is_gathering())?;
        if task_run.progress.state == State::Ready {
            let over = run.task(at.index).and_then(|task| task.def.map.as_ref()).map(|m| &m.over);
            if let Some(Over::Result(name)) = over
                && let Some(outside) = self.left_out(at, name)
            {
                return Some(Gathering::ListOf(outside));
            }
            return run.list_of(at.index).map(Gathering::List);
        }
        let results = run.listed(at.index).map(|(_, item)| Kept::result(&item.progress));
        Some(Gathering::Results(results.collect()))
    }
}
