//! Mapped tasks and their items.

use std::collections::BTreeMap;

use super::{Findings, RunFacts};
use crate::model::{State, TaskId, TaskRunRow};

pub(super) fn check(facts: &RunFacts<'_>, findings: &mut Findings) {
    let mut note = |row: &TaskRunRow, what: &str| {
        findings.note("M1", format!("task run {} {what}", row.id));
    };
    let planned = facts.planned();
    let wholes: BTreeMap<TaskId, &TaskRunRow> =
        planned.iter().filter(|row| row.map_index < 0).map(|row| (row.task_id, row)).collect();
    let mut items: BTreeMap<TaskId, Vec<&TaskRunRow>> = BTreeMap::new();
    for row in facts.run.task_runs.iter().skip(planned.len()) {
        if !wholes.contains_key(&row.task_id) || row.progress.item.is_none() {
            note(row, "is an item of nothing");
        }
        items.entry(row.task_id).or_default().push(row);
    }
    for (task, whole) in wholes {
        let items = items.remove(&task).unwrap_or_default();
        if items.iter().zip(0..).any(|(item, at)| item.map_index != at) {
            note(whole, "has an item twice, or one is missing");
        }
        let listed = || items.iter().filter(|item| !item.progress.is_removed());
        let open = |item: &&&TaskRunRow| !item.progress.state.is_final();
        if whole.progress.state != State::Running && listed().any(|item| open(&item)) {
            note(whole, "has ended before its items");
        }
        let good = |item: &&TaskRunRow| !item.progress.state.ended_badly();
        if whole.progress.state == State::Success && !listed().all(good) {
            note(whole, "succeeded although an item ended badly");
        }
    }
}
