//! What is open at its deadline is noted when time has passed that, once, and canceled where it is
//! told to.

use std::collections::BTreeSet;

use mainspring::engine::{Event, World};
use mainspring::model::{Deadline, Instant, OnDeadline, TaskRunId, Trigger};

use super::{Checker, Step, Truth};
use crate::sim::rows::MemoryRows;

#[derive(Default)]
pub struct Deadlines(BTreeSet<TaskRunId>);

/// The deadline of a task run, as it was meant. Who asks for a run after that knows that it is late.
fn meant(truth: &Truth, run: &mainspring::engine::Run, index: u32) -> Option<Instant> {
    // What stands for items has the deadline, and they have none.
    let policy = &truth.plans[&run.row.id].tasks.get(index as usize)?.def.policy;
    let Some(Deadline::After { after_ms }) = policy.deadline else { return None };
    let timed = matches!(run.row.trigger, Trigger::Schedule | Trigger::Catchup);
    let at = run.row.nominal_at.plus_millis(after_ms);
    (timed || at > run.row.created_at).then_some(at)
}

impl Checker for Deadlines {
    fn name(&self) -> &'static str {
        "deadlines"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for overdue in &step.decision.overdue {
            let run = step.world.run(overdue.at.run).ok_or("no such run")?;
            let policy = &step.truth.plans[&run.row.id].tasks[overdue.at.index as usize].def.policy;
            let cancels = policy.on_deadline == OnDeadline::Cancel;
            let right = meant(step.truth, run, overdue.at.index) == Some(overdue.deadline_at)
                && overdue.deadline_at <= step.now
                && cancels == overdue.cancels;
            if !right || !self.0.insert(overdue.id) {
                return Err(format!("{overdue:?}"));
            }
            let task_run = run.task_run(overdue.at.index);
            let stopped = task_run.live.as_ref().is_none_or(|live| live.stop.is_some());
            if cancels && !task_run.progress.state.is_final() && !stopped {
                return Err(format!("it goes on: {:?}", task_run.progress));
            }
        }
        if !matches!(step.event, Event::Tick) {
            return Ok(());
        }
        for run in step.world.runs() {
            for (task_run, index) in run.task_runs().iter().zip(0..) {
                let p = &task_run.progress;
                let passed = meant(step.truth, run, index).is_some_and(|at| at <= step.now);
                if passed && !p.state.is_final() && p.overdue_at.is_none() {
                    return Err(format!("nobody noticed at {}: {p:?}", step.now));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World, _: &MemoryRows) -> Result<(), String> {
        for task_run in world.runs().flat_map(|run| run.task_runs()) {
            let p = &task_run.progress;
            let late = p.deadline_at.zip(p.finished_at).is_some_and(|(due, end)| end > due);
            // What was made late and ended in the same instant was open at no tick.
            let at_once = p.finished_at == Some(task_run.created_at);
            if late && !at_once && p.overdue_at.is_none() {
                return Err(format!("it was late and nobody was told: {p:?}"));
            }
        }
        Ok(())
    }
}
