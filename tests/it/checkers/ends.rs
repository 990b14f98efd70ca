//! When faults stop, everything ends, and the states of the runs say so.

use mainspring::engine::{PlannedTask, TaskRun, Verdict, World, edge_verdict};
use mainspring::model::{EdgeKind, RunState, State};

use super::Checker;
use crate::sim::rows::MemoryRows;

pub struct Ends;

impl Checker for Ends {
    fn name(&self) -> &'static str {
        "ends"
    }

    fn end(&mut self, world: &World, _: &MemoryRows) -> Result<(), String> {
        if let Some(wake) = world.next_wake() {
            return Err(format!("a timer is left at {wake}"));
        }
        if world.live_count() + world.zombie_count() > 0 {
            return Err("slots are still held".into());
        }
        for run in world.runs() {
            // What stands for items says of the run what they do.
            let planned = &run.task_runs()[..run.row.task_count as usize];
            let states: Vec<State> = planned.iter().map(|t| t.progress.state).collect();
            let has = |state| states.contains(&state);
            // What waits for something BLOCKED, which is no end, cannot move either.
            let is_stuck = |index: u32| {
                run.plan.upstream(index).any(|(up, rule)| {
                    let upstream = run.task_run(up);
                    let waits = edge_verdict(rule, upstream.standing()) == Verdict::Waits;
                    waits && matches!(upstream.progress.state, State::Blocked | State::Pending)
                })
            };
            let gates = run.task_runs().iter().zip(&run.plan.tasks);
            let awaited = |(t, task): (&TaskRun, &PlannedTask)| {
                task.def.is_gate() && t.progress.state == State::Running
            };
            // A holiday makes no data ready: somebody outside would have to say that it is.
            let asset = |index: u32| {
                run.plan.upstream(index).any(|(up, rule)| {
                    let upstream = run.task_run(up).standing();
                    rule.kind == EdgeKind::DataReady
                        && upstream.state == State::Skipped
                        && edge_verdict(rule, upstream) == Verdict::Waits
                })
            };
            let undeclared = (0u32..)
                .zip(&states)
                .any(|(index, state)| *state == State::Pending && asset(index) && !is_stuck(index));
            let person = gates.clone().any(awaited);
            if undeclared || person {
                // Nobody has come yet. What does not wait for that has ended all the same.
                let waits = |(t, task): (&TaskRun, &PlannedTask)| {
                    awaited((t, task)) || t.progress.state == State::Pending
                };
                let mut open = gates.filter(|(t, _)| t.progress.state.can_move());
                // Beside what is BLOCKED it counts as stuck itself.
                let stuck = !person && has(State::Blocked);
                if !open.all(waits) || run.row.state != RunState::Running && !stuck {
                    return Err(format!("{:?} with {states:?}", run.row));
                }
                continue;
            }
            let expected = if states.iter().all(|s| matches!(s, State::Success | State::Skipped)) {
                RunState::Success
            } else if run.cancel_requested
                || has(State::Canceled) && !has(State::Failed) && !has(State::Timeout)
            {
                RunState::Canceled
            } else {
                RunState::Failed
            };
            let open = (0u32..).zip(&states).any(|(index, state)| {
                state.can_move() && !(*state == State::Pending && is_stuck(index))
            });
            if open || run.row.state != expected || run.row.finished_at.is_none() {
                return Err(format!("{:?} with {states:?}", run.row));
            }
        }
        Ok(())
    }
}
