//! Of the open dates of a batch one runs for all, and all end as it does.

use std::collections::BTreeMap;

use mainspring::engine::{Decision, TaskRunRef};
use mainspring::model::{BackfillPlan, Progress, RunId, State, TaskId, TaskRunId, TaskRunRow};

use super::backfills::Truth;
use crate::sim::rows::MemoryRows;

const DAY: i64 = 86_400_000_000;

/// Of a decision, before it is carried out.
pub fn before(decision: &Decision, rows: &MemoryRows, truth: &Truth) -> Result<(), String> {
    let mut to: BTreeMap<TaskRunRef, &Progress> = BTreeMap::new();
    for each in &decision.moves {
        to.insert(each.at, &each.to);
    }
    for start in &decision.starts {
        let Some((own, others)) = block(rows, truth, start.at) else { continue };
        let name = || format!("batch: {} of {}", own.task_id.0, start.at.run);
        for (at, row) in others.iter().filter(|(_, row)| !row.progress.state.is_final()) {
            if row.nominal_at > own.nominal_at {
                return Err(format!("{} starts before the one of {}", name(), at.run));
            }
            if row.progress.state != State::Ready || !upstreams_hold(rows, *at) {
                let state = row.progress.state;
                return Err(format!("{} starts while that of {} is {state}", name(), at.run));
            }
            if to.get(at).map(|to| to.state) != Some(State::Running) {
                return Err(format!("{} starts without that of {}", name(), at.run));
            }
        }
    }
    for end in &decision.ends {
        let Some((own, others)) = block(rows, truth, end.at) else { continue };
        // What is given up later has ended before.
        if own.progress.state != State::Running {
            continue;
        }
        let Some(mine) = to.get(&end.at) else { continue };
        let ran = |row: &TaskRunRow| row.progress.state == State::Running;
        for (at, _) in others.iter().filter(|(_, row)| ran(row)) {
            let theirs = to.get(at);
            let same = theirs.is_some_and(|theirs| match mine.state.is_final() {
                true => (theirs.state, &theirs.result) == (mine.state, &mine.result),
                false => !theirs.state.is_final() && theirs.state != State::Running,
            });
            // Somebody may cancel one of them for itself, with the same words.
            let canceled = theirs.is_some_and(|theirs| theirs.state == State::Canceled);
            if !same && !canceled {
                let (mine, theirs) = (mine.state, theirs.map(|theirs| theirs.state));
                return Err(format!(
                    "batch: {} of {} is {mine}, that of {} {theirs:?}",
                    own.task_id.0, end.at.run, at.run
                ));
            }
        }
    }
    Ok(())
}

/// Whether what a task run waits for in its own run is done.
fn upstreams_hold(rows: &MemoryRows, at: TaskRunRef) -> bool {
    let stored = &rows.runs[&at.run];
    let task = &stored.plan.tasks[at.index as usize];
    let here = format!("{}.", stored.row.dag);
    let edges = task.def.dependencies.iter().filter(|edge| edge.offset_from == 0);
    edges.filter_map(|edge| edge.upstream.strip_prefix(&here)).all(|up| {
        let found = stored.plan.tasks.iter().find(|task| task.def.name == up);
        found.is_none_or(|up| {
            let row = stored.task_runs.values().find(|row| row.task_id == up.task_id).unwrap();
            matches!(row.progress.state, State::Success | State::Skipped)
        })
    })
}

type Member<'r> = (TaskRunRef, &'r TaskRunRow);

/// A task run as it stands, and the others of its batch.
fn block<'r>(
    rows: &'r MemoryRows,
    truth: &Truth,
    at: TaskRunRef,
) -> Option<(&'r TaskRunRow, Vec<Member<'r>>)> {
    let stored = rows.runs.get(&at.run)?;
    let plan = truth.plans.get(&stored.row.backfill_id?)?;
    let task = stored.plan.tasks.get(at.index as usize)?.task_id;
    if !plan.tasks.iter().any(|known| known.task_id == task && known.batch) {
        return None;
    }
    let places = &rows.backfills[&stored.row.backfill_id?].places;
    let mine = places.iter().position(|place| place.0 == Some(at.run))?;
    let (mut first, mut last) = (mine, mine);
    while let Some(before) = beside(plan, first, task, -DAY) {
        first = before;
    }
    while let Some(after) = beside(plan, last, task, DAY) {
        last = after;
    }
    let (from, to) = (plan.runs[first].nominal_at, plan.runs[last].nominal_at);
    let group = plan.runs[mine].group;
    let of_it = |place: &usize| {
        let run = &plan.runs[*place];
        let within = run.group == group && run.nominal_at >= from && run.nominal_at <= to;
        within && *place != mine && holds(plan, *place, task)
    };
    let others = (0..plan.runs.len()).filter(of_it).filter_map(|place| places[place].0);
    let row_of = |run: RunId| -> Option<Member<'r>> {
        let stored = rows.runs.get(&run)?;
        let index = stored.plan.tasks.iter().position(|known| known.task_id == task)? as u32;
        let id = TaskRunId(stored.row.first_task_run_id.0 + i64::from(index));
        Some((TaskRunRef { run, index }, stored.task_runs.get(&id)?))
    };
    Some((row_of(at.run)?.1, others.filter_map(row_of).collect()))
}

fn holds(plan: &BackfillPlan, place: usize, task: TaskId) -> bool {
    let set = &plan.sets[plan.runs[place].set as usize];
    set.tasks.iter().any(|known| plan.tasks[*known as usize].task_id == task)
}

/// The place of the same task a day before or after, if it is of the same group.
fn beside(plan: &BackfillPlan, place: usize, task: TaskId, by: i64) -> Option<usize> {
    let mine = &plan.runs[place];
    (0..plan.runs.len()).find(|other| {
        let run = &plan.runs[*other];
        run.group == mine.group
            && run.nominal_at.0 == mine.nominal_at.0 + by
            && holds(plan, *other, task)
    })
}
