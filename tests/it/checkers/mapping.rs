//! A mapped task has each item of its list once and in order, is open as long as one of them is,
//! gives their results in the order of the list, and keeps its own limit.

use std::collections::BTreeMap;

use mainspring::engine::{Event, Place, Run, TaskRunRef, World};
use mainspring::model::{Over, State};
use serde_json::Value;

use super::{Checker, Step};
use crate::sim::rows::MemoryRows;

/// The list of each mapped task as it was when it was expanded.
#[derive(Default)]
pub struct Mapping(BTreeMap<TaskRunRef, Vec<String>>);

impl Checker for Mapping {
    fn name(&self) -> &'static str {
        "mapping"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Event::Expand { at, list: Ok(list) } = step.event
            && step.decision.moves.iter().any(|to| to.at == *at)
        {
            self.0.insert(*at, list.iter().map(|item| item.to_string()).collect());
        }
        let mut runs: Vec<_> = step.decision.moves.iter().map(|to| to.at.run).collect();
        runs.dedup();
        for id in runs {
            let Some(run) = step.world.run(id) else { continue };
            for index in (0..run.row.task_count).filter(|index| run.items(*index).is_some()) {
                let at = TaskRunRef { run: id, index };
                self.check(run, at).map_err(|wrong| format!("{}: {wrong}", run.name(index)))?;
                let limit = step.task(at).map.as_ref().and_then(|map| map.max_active);
                let live = run.listed(index).filter(|(_, item)| item.live.is_some()).count();
                let begins = step
                    .decision
                    .starts
                    .iter()
                    .any(|start| start.at.run == id && run.planned(start.at.index) == index);
                if begins && limit.is_some_and(|limit| live > limit as usize) {
                    return Err(format!("{live} items of {} at once: {limit:?}", run.name(index)));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World, rows: &MemoryRows) -> Result<(), String> {
        for run in world.runs() {
            let stored = &rows.runs[&run.row.id];
            for index in 0..run.task_runs().len() as u32 {
                let row = &stored.task_runs[&run.task_run(index).id];
                let item = matches!(run.task_run(index).place, Place::Item { .. });
                if item != row.progress.item.is_some()
                    || (row.map_index < 0) != run.items(index).is_some()
                {
                    return Err(format!("{row:?} is not what {} is", run.name(index)));
                }
            }
        }
        Ok(())
    }
}

impl Mapping {
    fn check(&self, run: &Run, at: TaskRunRef) -> Result<(), String> {
        let whole = &run.task_run(at.index).progress;
        let items: Vec<_> = run.listed(at.index).map(|(_, item)| item).collect();
        let open = items.iter().filter(|item| !item.progress.state.is_final()).count();
        if open > 0 && whole.state != State::Running {
            return Err(format!("is {} while {open} items are open", whole.state));
        }
        for (item, place) in items.iter().zip(0..) {
            if item.place != (Place::Item { of: at.index, map_index: place }) {
                return Err(format!("{:?} is at place {place}", item.place));
            }
        }
        let bad = items.iter().filter(|item| item.progress.state.ended_badly()).count();
        if whole.state == State::Running && open == 0 && bad > 0 {
            return Err(format!("{bad} items have ended badly and none is open"));
        }
        // Between a rerun and its expansion the items are still those of before.
        let expanded = whole.state == State::Running || whole.state == State::Success;
        if !expanded {
            return Ok(());
        }
        let list = self.0.get(&at).ok_or("was never expanded")?;
        let given: Vec<&str> =
            items.iter().map(|item| item.progress.item.as_deref().unwrap_or("")).collect();
        if given != *list {
            return Err(format!("has items {given:?} of the list {list:?}"));
        }
        if let Some(map) = &run.task(at.index).and_then(|task| task.def.map.as_ref())
            && let Over::Items(meant) = &map.over
            && meant.len() != list.len()
        {
            return Err(format!("has {} items of {meant:?}", list.len()));
        }
        if whole.state == State::Success {
            let results: Vec<Value> = items
                .iter()
                .map(|item| {
                    let result = item.progress.result.as_deref();
                    result.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
                })
                .collect();
            let kept: Value = serde_json::from_str(whole.result.as_deref().unwrap_or("")).unwrap();
            if kept != Value::Array(results.clone()) {
                return Err(format!("has the result {kept} of {results:?}"));
            }
        }
        Ok(())
    }
}
