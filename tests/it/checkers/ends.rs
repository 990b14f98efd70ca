//! When faults stop, everything ends, and the states of the runs say so.

use mainspring::engine::World;
use mainspring::model::{RunState, State};

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
            let states: Vec<State> = run.task_runs().iter().map(|t| t.progress.state).collect();
            let has = |state| states.contains(&state);
            let expected = if states.iter().all(|s| matches!(s, State::Success | State::Skipped)) {
                RunState::Success
            } else if run.cancel_requested
                || has(State::Canceled) && !has(State::Failed) && !has(State::Timeout)
            {
                RunState::Canceled
            } else {
                RunState::Failed
            };
            let open = states.iter().any(|state| state.can_move());
            if open || run.row.state != expected || run.row.finished_at.is_none() {
                return Err(format!("{:?} with {states:?}", run.row));
            }
        }
        Ok(())
    }
}
