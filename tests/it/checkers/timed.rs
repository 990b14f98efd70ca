//! U1: a target has one timed run for an instant and set of values, whoever makes it.

use std::collections::BTreeSet;

use mainspring::model::TimedKey;

use super::{Checker, Step};

#[derive(Default)]
pub struct Timed(BTreeSet<TimedKey>);

impl Checker for Timed {
    fn name(&self) -> &'static str {
        "timed"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for create in &step.decision.creates {
            // By what was meant: a fault may call it something else.
            let mut row = create.row.clone();
            row.timed = true;
            row.variant.clear();
            match row.timed_key() {
                Some(key) if !self.0.insert(key.clone()) => {
                    return Err(format!("a second run for {key:?}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
