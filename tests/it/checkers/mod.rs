//! Invariants, one a file. A checker sees every step of a story and says what is wrong with it.
//!
//! It judges by the truth - the plans and pools as they were meant - and never by what the engine
//! was given, so that a fault planted between the two is seen.

mod arrows;
mod attempt_numbers;
mod blocked_by;
mod budget;
mod canceled;
mod delays;
mod ends;
mod fence;
mod journal;
mod level;
mod order;
mod single;
mod slots;
mod unique;
mod upstreams;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::{Decision, Event, Plan, World};
use mainspring::model::{Instant, RunId};

use crate::sim::rows::MemoryRows;

/// What is really so.
#[derive(Default)]
pub struct Truth {
    pub plans: BTreeMap<RunId, Arc<Plan>>,
    pub pools: BTreeMap<Option<String>, u32>,
}

/// One event with what was decided about it.
pub struct Step<'a> {
    pub now: Instant,
    /// As it happened.
    pub event: &'a Event,
    pub decision: &'a Decision,
    /// Afterwards.
    pub world: &'a World,
    pub truth: &'a Truth,
}

pub trait Checker {
    fn name(&self) -> &'static str;

    fn step(&mut self, _: &Step) -> Result<(), String> {
        Ok(())
    }

    /// When faults have stopped and nothing happens any more.
    fn end(&mut self, _: &World, _: &MemoryRows) -> Result<(), String> {
        Ok(())
    }
}

pub fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::<arrows::Arrows>::default(),
        Box::<attempt_numbers::AttemptNumbers>::default(),
        Box::new(blocked_by::BlockedBy),
        Box::new(budget::Budget),
        Box::<canceled::Canceled>::default(),
        Box::<delays::Delays>::default(),
        Box::new(ends::Ends),
        Box::new(fence::Fence),
        Box::new(journal::Journal),
        Box::new(level::Level),
        Box::new(order::Order),
        Box::<single::Single>::default(),
        Box::new(slots::Slots),
        Box::<unique::Unique>::default(),
        Box::new(upstreams::Upstreams),
    ]
}
