//! An attempt starts only when every edge of its task run holds.

use mainspring::engine::edge_verdict;

use super::{Checker, Step};

pub struct Upstreams;

impl Checker for Upstreams {
    fn name(&self) -> &'static str {
        "upstreams"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for start in &step.decision.starts {
            let run = step.world.run(start.at.run).unwrap();
            for (upstream, rule) in step.truth.plans[&start.at.run].upstream(start.at.index) {
                let standing = run.task_run(upstream).standing();
                if !edge_verdict(rule, standing).lets_go() {
                    return Err(format!("{:?} started while {upstream} is {standing:?}", start.at));
                }
            }
        }
        Ok(())
    }
}
