//! Exact reprocess: the cells that are computed are those that plain loops over the plan find, by
//! what came out changed of all that each depends on.

use std::collections::BTreeSet;

use mainspring::engine::{Decision, TaskRunRef, World, skip_codes};
use mainspring::model::{BackfillPlan, Date, Progress, RunId, State, TaskId, TaskRunId};

use super::backfills::Truth;
use crate::sim::rows::MemoryRows;

/// Each task run that is left as it is, or that enters the queue for the first time, in a decision.
pub fn check(
    world: &World,
    decision: &Decision,
    rows: &MemoryRows,
    truth: &Truth,
) -> Result<(), String> {
    let mut queued: BTreeSet<TaskRunId> = BTreeSet::new();
    for to in &decision.moves {
        let was_queued = queued.contains(&to.id)
            || rows.runs.get(&to.at.run).is_some_and(|stored| {
                let row = stored.task_runs.get(&to.id);
                row.is_some_and(|row| row.progress.first_ready_at.is_some())
            });
        if to.to.first_ready_at.is_some() {
            queued.insert(to.id);
        }
        let left =
            to.to.state == State::Skipped && to.to.code.as_deref() == Some(skip_codes::UNCHANGED);
        let runs = to.to.state == State::Ready && !was_queued;
        if !left && !runs {
            continue;
        }
        let stays = should_stay(world, decision, rows, truth, to.at) == Some(Ok(()));
        if left != stays && (left || !was_queued) {
            let what = if left { "is left as it is" } else { "runs" };
            let by = should_stay(world, decision, rows, truth, to.at);
            return Err(format!("unchanged: {:?} {what}, and the loops say {by:?}", to.at));
        }
    }
    Ok(())
}

/// Whether nothing planned that a task run depends on has come out changed; none of what no
/// reprocess keeps.
fn should_stay(
    world: &World,
    decision: &Decision,
    rows: &MemoryRows,
    truth: &Truth,
    at: TaskRunRef,
) -> Option<Result<(), String>> {
    let made = decision.creates.iter().find(|create| create.row.id == at.run);
    let (row, plan) = match made {
        Some(create) => (&create.row, &create.plan.0),
        None => (&rows.runs[&at.run].row, &rows.runs[&at.run].plan),
    };
    let id = row.backfill_id.filter(|id| world.backfill(*id).is_some())?;
    let whole = truth.plans.get(&id).filter(|plan| plan.ask.reprocess)?;
    let task = &plan.tasks[at.index as usize];
    let places = &rows.backfills[&id].places;
    let run_of = |ordinal: u32| {
        let now = decision.filled.iter().find(|it| it.backfill == id && it.ordinal == ordinal);
        now.map_or(places[ordinal as usize].0, |place| place.run)
    };
    let mine = (0..whole.runs.len() as u32).find(|ordinal| run_of(*ordinal) == Some(at.run))?;
    let set = &whole.sets[whole.runs[mine as usize].set as usize];
    if !has(whole, &set.keep, task.task_id) {
        return None;
    }
    let mut any = false;
    for edge in &task.def.dependencies {
        let (dag, name) = edge.upstream.split_once(".t").unwrap();
        let up = TaskId(dag[1..].parse::<i64>().unwrap() * 10 + name.parse::<i64>().unwrap());
        let date = row.biz_date.plus_days(edge.offset_from);
        let planned = (0u32..).zip(&whole.runs).find(|(_, run)| {
            run.biz_date == date && has(whole, &whole.sets[run.set as usize].tasks, up)
        });
        let Some((ordinal, _)) = planned else { continue };
        any = true;
        // An edge inside of a run looks at that; one to another run at the newest one.
        let counts = |run: &RunId| *run == at.run || newest(decision, rows, up, date) == Some(*run);
        let Some(run) = run_of(ordinal).filter(counts) else {
            return Some(Err(format!("{} of {date} is computed elsewhere", edge.upstream)));
        };
        let found = progress(decision, rows, run, up);
        let unchanged = found.as_ref().is_some_and(|up| match up.state {
            State::Success => up.unchanged,
            State::Skipped => up.code.as_deref() == Some(skip_codes::UNCHANGED),
            _ => false,
        });
        if !unchanged {
            let found = found.map(|up| (up.state, up.code, up.unchanged));
            return Some(Err(format!("{} of {date} in {run} is {found:?}", edge.upstream)));
        }
    }
    Some(if any { Ok(()) } else { Err("it depends on nothing of the plan".into()) })
}

fn has(plan: &BackfillPlan, tasks: &[u32], task: TaskId) -> bool {
    tasks.iter().any(|index| plan.tasks[*index as usize].task_id == task)
}

fn newest(decision: &Decision, rows: &MemoryRows, task: TaskId, date: Date) -> Option<RunId> {
    let made = decision.creates.iter().filter(|create| {
        create.row.biz_date == date && create.plan.0.tasks.iter().any(|each| each.task_id == task)
    });
    let stored = rows.runs.values().filter(|stored| {
        stored.row.biz_date == date && stored.task_runs.values().any(|row| row.task_id == task)
    });
    made.map(|create| create.row.id).chain(stored.map(|stored| stored.row.id)).max()
}

fn progress(decision: &Decision, rows: &MemoryRows, run: RunId, task: TaskId) -> Option<Progress> {
    let Some(stored) = rows.runs.get(&run) else {
        // It is made by this very decision.
        let made = decision.creates.iter().find(|create| create.row.id == run)?;
        let index = made.plan.0.tasks.iter().position(|each| each.task_id == task)? as u32;
        let at = TaskRunRef { run, index };
        let moved = decision.moves.iter().rev().find(|to| to.at == at);
        return Some(moved.map_or_else(Progress::default, |to| to.to.clone()));
    };
    let row = stored.task_runs.values().find(|row| row.task_id == task)?;
    let moved = decision.moves.iter().rev().find(|to| to.id == row.id);
    Some(moved.map_or(&row.progress, |to| &to.to).clone())
}
