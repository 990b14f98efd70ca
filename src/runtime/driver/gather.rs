//! Mapped tasks: the engine opens no file, so their lists are read here, and the results of their
//! items put together.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use super::Driver;
use crate::engine::{Event, Gathering, Kept, NoList, Plan, PlannedTask, TaskRunRef, items_of};
use crate::model::{Instant, Mapping, Over, TaskDef, fingerprint_of};
use crate::runtime::files::{INLINE_RESULT_LIMIT, RESULT_LIMIT};
use crate::runtime::turn::Turn;

impl Driver {
    /// Time passes, and what mapped tasks wait for is read; what comes of the one may need the
    /// other.
    pub(super) fn tick_and_gather(&mut self, turn: &mut Turn, now: Instant) {
        loop {
            if self.world.next_timer().is_some_and(|wake| wake <= now) {
                self.decide(&Event::Tick, turn, now);
            }
            if !self.gather_items(turn, now) {
                return;
            }
        }
    }

    /// Reads until no mapped task waits for it; whether there was any.
    fn gather_items(&mut self, turn: &mut Turn, now: Instant) -> bool {
        let mut any = false;
        while let Some(at) = self.world.next_gathering() {
            let Some(gathering) = self.world.gathering(at) else { return any };
            let revision = |driver: &Driver| {
                driver.world.task_run(at).map(|task_run| task_run.progress.revision)
            };
            let before = revision(self);
            let event = match gathering {
                Gathering::List(kept) => {
                    self.learn_ids(turn);
                    Event::Expand { at, list: listed(kept) }
                }
                Gathering::ListOf(task_run) => {
                    self.learn_ids(turn);
                    Event::Expand { at, list: listed(self.kept(task_run)) }
                }
                Gathering::Results(results) => {
                    let collected = self.collected(at, results);
                    self.marked(at, collected)
                }
            };
            self.decide(&event, turn, now);
            // A mistake of ours must not keep the driver here for ever.
            if revision(self) == before {
                return any;
            }
            any = true;
        }
        any
    }

    /// Others may have made runs meanwhile. What this turn has made is not stored yet, and then its
    /// ids have to do: the commit refuses them where they are taken.
    fn learn_ids(&mut self, turn: &Turn) {
        if !turn.makes()
            && let Ok(next) = self.store.next_ids()
        {
            self.world.set_next_ids(next.run, next.task_run);
        }
    }

    /// With the fingerprint of all that the items put out, where each of them has one.
    fn marked(&mut self, at: TaskRunRef, collected: Event) -> Event {
        let Event::Collect { result, result_uri, texts, .. } = collected else { return collected };
        let run = self.world.run(at.run);
        let items = run.map(|run| run.listed(at.index).collect::<Vec<_>>()).unwrap_or_default();
        let marks = items.iter().map(|(_, item)| item.progress.fingerprint.as_deref());
        let marks: Option<Vec<&str>> = marks.collect();
        let says = run
            .and_then(|run| run.task(at.index))
            .is_some_and(|task| task.def.fingerprint.is_some() || !items.is_empty());
        let fingerprint = marks.filter(|_| says).map(|marks| fingerprint_of(&marks.join("\n")));
        let unchanged = self.is_unchanged(at, fingerprint.as_deref());
        Event::Collect { at, result, result_uri, fingerprint, unchanged, texts }
    }

    /// One list of the results of all items: here, in a file, or nowhere where it is too large.
    fn collected(&self, at: TaskRunRef, results: Vec<Kept>) -> Event {
        let collect = |result, result_uri, texts| {
            let (fingerprint, unchanged) = (None, false);
            Event::Collect { at, result, result_uri, fingerprint, unchanged, texts }
        };
        let nowhere = collect(None, None, None);
        let mut text = String::from("[");
        for (nth, kept) in results.into_iter().enumerate() {
            if nth > 0 {
                text.push(',');
            }
            let written = match kept {
                Kept::Text(result) => text.write_str(&result).is_ok(),
                Kept::Nothing => text.write_str("null").is_ok(),
                Kept::File(path) => {
                    fs::read_to_string(path).is_ok_and(|result| text.write_str(&result).is_ok())
                }
            };
            if !written || text.len() >= RESULT_LIMIT {
                return nowhere;
            }
        }
        text.push(']');
        if text.len() <= INLINE_RESULT_LIMIT {
            return collect(Some(text.into()), None, None);
        }
        let Some(whole) = self.world.task_run(at) else { return nowhere };
        // It has no attempts; its revision grows from one collection to the next.
        match self.files.keep_result(at.run, whole.id, whole.progress.revision, &text) {
            Ok(uri) => {
                let texts = self.texts_of_result(at, &uri);
                collect(None, Some(uri), texts)
            }
            Err(_) => nowhere,
        }
    }
}

/// The definitions of tasks that are mapped over items of the definition itself, without these: a
/// job has its own item, and carries no others to its process.
pub(super) fn light_definitions(plan: &Plan) -> BTreeMap<u32, Arc<TaskDef>> {
    let light = |task: &PlannedTask| {
        let map = task.def.map.as_ref().filter(|map| matches!(map.over, Over::Items(_)))?;
        let map = Mapping { over: Over::Items(Vec::new()), ..map.clone() };
        Some(Arc::new(TaskDef { map: Some(map), ..(*task.def).clone() }))
    };
    (0u32..).zip(&plan.tasks).filter_map(|(at, task)| Some((at, light(task)?))).collect()
}

fn listed(kept: Kept) -> Result<Vec<Arc<str>>, NoList> {
    match kept {
        Kept::Text(text) => items_of(&text),
        Kept::Nothing => items_of("null"),
        Kept::File(path) => {
            let text = fs::read_to_string(&path).map_err(|error| NoList {
                code: "NOT_A_LIST",
                why: format!("the list cannot be read: {path}: {error}"),
            })?;
            items_of(&text)
        }
    }
}
