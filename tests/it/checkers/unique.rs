//! A timed run is made once for its dag and instant, however often it is asked for.

use std::collections::BTreeSet;

use mainspring::engine::Event;
use mainspring::model::{DagId, Instant};

use super::{Checker, Step};

#[derive(Default)]
pub struct Unique(BTreeSet<(DagId, Instant)>);

impl Checker for Unique {
    fn name(&self) -> &'static str {
        "unique"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Event::CreateRun(new) = step.event
            && new.timed
            && !step.decision.creates.is_empty()
            && !self.0.insert((new.plan.dag_id, new.nominal_at))
        {
            return Err(format!("a second run for {}", new.nominal_at));
        }
        Ok(())
    }
}
