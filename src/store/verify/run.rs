//! A run and its task runs.

use std::collections::BTreeSet;

use super::{Findings, RunFacts};
use crate::model::{RunState, State, TaskRunRow};

pub(super) fn check(facts: &RunFacts<'_>, findings: &mut Findings) {
    let row = &facts.run.row;
    let task_runs = &facts.run.task_runs;
    let mut places = BTreeSet::new();
    for task_run in task_runs {
        if !places.insert((task_run.task_id, task_run.map_index)) {
            findings.note("U1", format!("task run {} of run {}", task_run.id, row.id));
        }
        times(task_run, findings);
    }
    let made = row.first_task_run_id.0..row.first_task_run_id.0 + i64::from(row.task_count);
    let there = task_runs.iter().filter(|task_run| made.contains(&task_run.id.0)).count();
    if there != row.task_count as usize {
        let text = format!("run {} has {there} of its {} task runs", row.id, row.task_count);
        findings.note("S2", text);
    }
    let derived = derive(facts.planned(), facts.run.cancel_requested);
    if !derived.contains(&row.state) {
        findings.note("S1", format!("run {} is {}", row.id, row.state));
    }
    if row.finished_at.is_some() == (row.state == RunState::Running) {
        findings.note("L2", format!("run {}", row.id));
    }
    if row.finished_at.is_some_and(|end| end < row.created_at) {
        findings.note("L4", format!("run {}", row.id));
    }
}

fn times(task_run: &TaskRunRow, findings: &mut Findings) {
    let now = &task_run.progress;
    if now.state.is_final() != now.finished_at.is_some() {
        findings.note("L2", format!("task run {}", task_run.id));
    }
    // A rerun keeps its first READY time, so only what is known to follow is compared.
    let started = now.started_at.unwrap_or(task_run.created_at);
    let ended = now.finished_at.unwrap_or(started);
    if started < task_run.created_at || ended < started {
        findings.note("L4", format!("task run {}", task_run.id));
    }
}

/// The states a run may have. What was canceled by hand, task run by task run, and what failed
/// before it was canceled, leave two ways to call it.
fn derive(task_runs: &[TaskRunRow], cancel_requested: bool) -> &'static [RunState] {
    let any = |test: fn(State) -> bool| task_runs.iter().any(|row| test(row.progress.state));
    if any(State::can_move) {
        &[RunState::Running]
    } else if !any(State::ended_badly) {
        &[RunState::Success]
    } else if cancel_requested {
        &[RunState::Canceled, RunState::Failed]
    } else if any(|state| state == State::Canceled) {
        &[RunState::Failed, RunState::Canceled]
    } else {
        &[RunState::Failed]
    }
}
