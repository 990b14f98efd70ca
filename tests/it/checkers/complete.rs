//! U2: each fire up to the watermark is exactly one of a run and a skip, and skips count right.

use mainspring::engine::World;

use super::{Checker, Step};
use crate::sim::lives::Life;
use crate::sim::rows::MemoryRows;

#[derive(Default)]
pub struct Complete(Vec<Life>);

impl Checker for Complete {
    fn name(&self) -> &'static str {
        "complete"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.schedules {
            let life = &step.truth.lives[&to.schedule];
            for (skip, _) in &to.skips {
                let covered = life.fires(skip.from + -1, skip.to).len() as i64;
                let ends = life.fire_at(skip.from).is_some() && life.fire_at(skip.to).is_some();
                if !ends || covered != skip.count {
                    return Err(format!("{covered} fires in {skip:?}"));
                }
            }
        }
        self.0 = step.truth.lives.values().cloned().collect();
        Ok(())
    }

    fn end(&mut self, _: &World, _: &MemoryRows) -> Result<(), String> {
        for life in &self.0 {
            for (at, span) in life.fires(life.spans[0].from, life.watermark) {
                let runs = life.fired.iter().filter(|fired| **fired == at).count();
                if runs + life.skipped(at) != 1 {
                    let skips = life.skipped(at);
                    return Err(format!("{at} has {runs} runs and {skips} skips: {span:?}"));
                }
            }
        }
        Ok(())
    }
}
