//! What backfills must keep: they touch the cells that they name and no others, each once, never
//! beside somebody else; within their share, class and number of open runs; in the order of edges.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{Decision, Event, TaskRunRef, World, skip_codes};
use mainspring::model::{
    BackfillId, BackfillPlan, BackfillState, EdgeKind, Instant, OnFailure, RunId, RunState, State,
    Steer, TaskId,
};

use super::unchanged;
use crate::sim::rows::MemoryRows;

/// What is really so.
#[derive(Default)]
pub struct Truth {
    /// Plans as they were meant.
    pub plans: BTreeMap<BackfillId, Arc<BackfillPlan>>,
    /// Slots of the one pool.
    pub slots: u32,
    /// Cells that another process runs.
    pub elsewhere: BTreeSet<(TaskId, Instant)>,
}

/// Remembers which backfills were given up.
#[derive(Default)]
pub struct Backfills {
    canceled: BTreeSet<BackfillId>,
}

impl Backfills {
    /// Of a decision, before it is carried out.
    pub fn before(
        &mut self,
        world: &World,
        event: &Event,
        decision: &Decision,
        rows: &MemoryRows,
        truth: &Truth,
    ) -> Result<(), String> {
        if let Event::Steer { backfill, steer, .. } = event {
            match steer {
                Steer::Cancel => drop(self.canceled.insert(*backfill)),
                Steer::Retry => drop(self.canceled.remove(backfill)),
                _ => {}
            }
        }
        let mut made: BTreeMap<BackfillId, Vec<u32>> = BTreeMap::new();
        for place in decision.filled.iter().filter(|place| place.run.is_some()) {
            made.entry(place.backfill).or_default().push(place.ordinal);
        }
        for (id, ordinals) in &made {
            self.max_active(*id, ordinals, rows, truth)?;
            self.stop(*id, rows, truth)?;
            let row = &rows.backfills[id].row;
            if row.state == BackfillState::Paused {
                return Err(format!("paused: {id} makes {ordinals:?}"));
            }
            if self.canceled.contains(id) {
                return Err(format!("canceled: {id} makes {ordinals:?}"));
            }
        }
        for create in decision.creates.iter().filter(|create| create.row.backfill_id.is_some()) {
            let at = create.row.nominal_at;
            for task in create.plan.0.tasks.iter().map(|task| task.task_id) {
                if truth.elsewhere.contains(&(task, at)) {
                    return Err(format!("in_flight: {task:?} at {at} is run by another process"));
                }
                let open = rows.runs.values().find(|stored| {
                    stored.row.nominal_at == at
                        && stored.row.state == RunState::Running
                        && stored.task_runs.values().any(|row| {
                            row.task_id == task
                                && !row.progress.state.is_final()
                                && !ends(decision, row.id)
                        })
                });
                if let Some(other) = open {
                    return Err(format!("in_flight: {task:?} at {at} is open in {}", other.row.id));
                }
            }
        }
        unchanged::check(world, decision, rows, truth)?;
        self.class(world, decision, truth)
    }

    /// At most so many runs are open, unless none of those can move by itself.
    fn max_active(
        &self,
        id: BackfillId,
        ordinals: &[u32],
        rows: &MemoryRows,
        truth: &Truth,
    ) -> Result<(), String> {
        let runs = rows.backfills[&id].places.iter().filter_map(|(run, _)| *run);
        let open: Vec<RunId> =
            runs.filter(|run| rows.runs[run].row.state == RunState::Running).collect();
        let moves = |run: &RunId| {
            rows.runs[run].task_runs.values().any(|row| {
                matches!(row.progress.state, State::Ready | State::Running | State::RetryWait)
            })
        };
        let plan = &truth.plans[&id];
        let groups: BTreeSet<u32> =
            ordinals.iter().map(|ordinal| plan.runs[*ordinal as usize].group).collect();
        let most = plan.ask.max_active as usize;
        let is_one_group = groups.len() == 1;
        let fits = open.len() + ordinals.len() <= most;
        if fits || is_one_group && (open.is_empty() || !open.iter().any(moves)) {
            return Ok(());
        }
        Err(format!("max_active: {} open and {ordinals:?} of {most}", open.len()))
    }

    /// After a failure a backfill that stops makes no more runs.
    fn stop(&self, id: BackfillId, rows: &MemoryRows, truth: &Truth) -> Result<(), String> {
        let mut runs = rows.backfills[&id].places.iter().filter_map(|(run, _)| *run);
        let badly = runs
            .any(|run| matches!(rows.runs[&run].row.state, RunState::Failed | RunState::Canceled));
        if badly && truth.plans[&id].ask.on_failure == OnFailure::Stop {
            return Err(format!("stop: {id} goes on after a failure"));
        }
        Ok(())
    }

    /// An attempt of a backfill starts only if nobody of a more urgent class waits for the same
    /// slots and for nothing else.
    fn class(&self, world: &World, decision: &Decision, truth: &Truth) -> Result<(), String> {
        let class = |at: TaskRunRef| -> Option<(u8, Option<BackfillId>)> {
            let run = world.run(at.run)?;
            let own = run.task(at.index)?.def.policy.priority;
            let of = run.row.backfill_id.filter(|id| truth.plans.contains_key(id));
            let least = of.map_or(0, |id| truth.plans[&id].ask.priority);
            Some((own.max(least), of))
        };
        let started: BTreeSet<TaskRunRef> = decision.starts.iter().map(|start| start.at).collect();
        for at in &started {
            let Some((mine, Some(_))) = class(*at) else { continue };
            for run in world.runs() {
                for index in 0..run.row.task_count {
                    let other = TaskRunRef { run: run.row.id, index };
                    let waits = world.task_run(other).is_some_and(|task_run| {
                        task_run.progress.state == State::Ready && task_run.live.is_none()
                    });
                    // Another backfill may have reached its own share.
                    let Some((theirs, None)) = class(other) else { continue };
                    if waits && !started.contains(&other) && theirs < mine {
                        return Err(format!("class: {at:?} of {mine} starts before {other:?}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// After each step.
    pub fn after(
        &mut self,
        world: &World,
        rows: &MemoryRows,
        truth: &Truth,
        _now: Instant,
    ) -> Result<(), String> {
        self.share(world, rows, truth)?;
        self.alone(rows)?;
        self.order(rows)
    }

    /// A backfill holds its share of the pool at most, or one attempt that is wider.
    fn share(&self, world: &World, rows: &MemoryRows, truth: &Truth) -> Result<(), String> {
        let mut held: BTreeMap<BackfillId, (u32, u32)> = BTreeMap::new();
        for stored in rows.runs.values() {
            let Some(id) = stored.row.backfill_id else { continue };
            for lease in stored.leases.values() {
                let (slots, count) = held.entry(id).or_default();
                (*slots, *count) = (*slots + lease.slots, *count + 1);
            }
        }
        for (id, (slots, count)) in held {
            // One that was forgotten with its end has no share any more.
            if world.backfill(id).is_none() {
                continue;
            }
            let share = u32::from(truth.plans[&id].ask.share);
            let most = (truth.slots * share).div_ceil(100).max(1);
            if slots > most && count > 1 {
                return Err(format!("share: {id} holds {slots} of {most} slots"));
            }
        }
        Ok(())
    }

    /// No cell runs twice at once where a backfill has to do with it.
    fn alone(&self, rows: &MemoryRows) -> Result<(), String> {
        let mut live: BTreeMap<(TaskId, Instant), RunId> = BTreeMap::new();
        for stored in rows.runs.values() {
            for id in stored.leases.keys() {
                let row = &stored.task_runs[id];
                if row.progress.state != State::Running {
                    continue;
                }
                let cell = (row.task_id, row.nominal_at);
                if let Some(other) = live.insert(cell, stored.row.id) {
                    let of = |run: &RunId| rows.runs[run].row.backfill_id;
                    if of(&other).or(of(&stored.row.id)).is_some() {
                        return Err(format!("alone: {cell:?} in {other} and {}", stored.row.id));
                    }
                }
            }
        }
        Ok(())
    }

    /// What runs in a backfill has an upstream of the day before, or of another dag, that succeeded
    /// in its newest run, unless there is none.
    fn order(&self, rows: &MemoryRows) -> Result<(), String> {
        for stored in rows.runs.values().filter(|stored| stored.row.backfill_id.is_some()) {
            for id in stored.leases.keys() {
                let row = &stored.task_runs[id];
                let task = stored.plan.tasks.iter().find(|task| task.task_id == row.task_id);
                let edges = task.map_or(&[][..], |task| &task.def.dependencies);
                for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Success) {
                    let (dag, name) = edge.upstream.split_once(".t").unwrap();
                    let dag: i64 = dag[1..].parse().unwrap();
                    let up = TaskId(dag * 10 + name.parse::<i64>().unwrap());
                    let date = stored.row.biz_date.plus_days(edge.offset_from);
                    let newest = rows.runs.values().rev().find_map(|other| {
                        let found = other.task_runs.values().find(|row| row.task_id == up)?;
                        (other.row.biz_date == date).then_some(found)
                    });
                    // Before the first day nothing is expected.
                    let holds = match newest {
                        Some(found) => {
                            found.progress.state == State::Success
                                || found.progress.code.as_deref() == Some(skip_codes::UNCHANGED)
                        }
                        None => date.0 < 100,
                    };
                    // It may have been run again since this one began.
                    let again = newest.is_some_and(|found| found.progress.rerun_base > 0)
                        || newest.is_some_and(|found| found.created_at > row.created_at)
                        || newest.is_some_and(|found| !found.progress.state.is_final());
                    if !holds && !again {
                        let state = newest.map(|found| found.progress.state);
                        return Err(format!(
                            "order: {:?} runs, {} is {state:?}",
                            row.task_id, edge.upstream
                        ));
                    }
                    if newest.is_none() && date.0 >= 100 {
                        return Err(format!(
                            "order: {:?} runs without {}",
                            row.task_id, edge.upstream
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// When faults have stopped and nothing happens any more.
    pub fn end(&self, world: &World, rows: &MemoryRows, truth: &Truth) -> Result<(), String> {
        if let Some(id) = world.next_fill() {
            return Err(format!("ends: {id} still needs something"));
        }
        for (id, plan) in &truth.plans {
            let Some(known) = rows.backfills.get(id) else { continue };
            if known.places.len() != plan.runs.len() {
                let (has, wants) = (known.places.len(), plan.runs.len());
                return Err(format!("cells: {id} has {has} places of {wants}"));
            }
            if !known.row.state.is_final() {
                return Err(format!("ends: {id} is {}: {:?}", known.row.state, known.places));
            }
            let mut runs = BTreeSet::new();
            for ((run, note), planned) in known.places.iter().zip(&plan.runs) {
                let Some(run) = run else {
                    if note.is_none() {
                        return Err(format!("cells: {id} has a gap for {}", planned.biz_date));
                    }
                    continue;
                };
                if !runs.insert(*run) {
                    return Err(format!("cells: {run} is made twice"));
                }
                let stored = &rows.runs[run];
                let named = plan.sets[planned.set as usize].tasks.iter();
                let named: BTreeSet<TaskId> =
                    named.map(|task| plan.tasks[*task as usize].task_id).collect();
                let touched: BTreeSet<TaskId> =
                    stored.task_runs.values().map(|row| row.task_id).collect();
                let is_so = stored.row.nominal_at == planned.nominal_at
                    && stored.row.biz_date == planned.biz_date
                    && named == touched;
                if !is_so {
                    return Err(format!("cells: {run} touches {touched:?} and not {named:?}"));
                }
            }
            let made = rows.runs.values().filter(|stored| stored.row.backfill_id == Some(*id));
            if made.count() != runs.len() {
                return Err(format!("cells: {id} made runs that it does not name"));
            }
        }
        Ok(())
    }
}

fn ends(decision: &Decision, id: mainspring::model::TaskRunId) -> bool {
    decision.moves.iter().any(|to| to.id == id && to.to.state.is_final())
}
