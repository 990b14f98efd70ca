//! An attempt starts only when every edge of its task run holds.

use mainspring::engine::{Verdict, edge_verdict};

use super::{Checker, Step};

pub struct Upstreams;

impl Checker for Upstreams {
    fn name(&self) -> &'static str {
        "upstreams"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for start in &step.decision.starts {
            let run = step.world.run(start.at.run).unwrap();
            for (upstream, kind) in step.truth.plans[&start.at.run].upstream(start.at.index) {
                let state = run.task_run(upstream).progress.state;
                if edge_verdict(kind, state) != Verdict::Holds {
                    return Err(format!("{:?} started while {upstream} is {state}", start.at));
                }
            }
        }
        Ok(())
    }
}
