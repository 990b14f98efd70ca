//! Invariants, one a file. A checker sees every step of a story and says what is wrong with it.
//!
//! It judges by the truth - the plans and pools as they were meant - and never by what the engine
//! was given, so that a fault planted between the two is seen.

mod arrows;
mod at_once;
mod attempt_numbers;
pub mod backfills;
mod blocked_by;
mod blocked_for;
mod budget;
mod canceled;
mod complete;
mod deadline;
mod delays;
mod early;
mod edited;
mod ends;
mod fence;
mod journal;
mod level;
mod limits;
mod mapping;
mod not_before;
mod order;
mod pauses;
mod preemption;
mod reasons;
mod rests;
mod run_on;
mod single;
mod slots;
mod timed;
pub mod unchanged;
mod unique;
mod upstreams;
mod watermark;
mod words;

pub use canceled::Canceled;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::{Decision, Event, Plan, PlannedTask, TaskRunRef, World};
use mainspring::model::{DagId, Instant, RunId, ScheduleId, TaskDef};

use crate::sim::lives::Life;
use crate::sim::rows::MemoryRows;

/// What is really so.
#[derive(Clone, Default)]
pub struct Truth {
    pub plans: BTreeMap<RunId, Arc<Plan>>,
    pub pools: BTreeMap<Option<String>, u32>,
    pub limits: BTreeMap<String, u32>,
    /// Pools whose queue ages, and how fast.
    pub ageing: BTreeMap<Option<String>, Option<i64>>,
    /// Schedules, and how many runs of each dag may be live.
    pub lives: BTreeMap<ScheduleId, Life>,
    pub most: BTreeMap<DagId, u32>,
    /// When this process last looked what is due.
    pub looked: Instant,
}

impl Truth {
    /// What the task of a task run was meant to be.
    pub fn task(&self, world: &World, at: TaskRunRef) -> &TaskDef {
        &self.planned(world, at).def
    }

    /// The same with the ids that it has.
    fn planned(&self, world: &World, at: TaskRunRef) -> &PlannedTask {
        let index = world.run(at.run).unwrap().planned(at.index);
        &self.plans[&at.run].tasks[index as usize]
    }
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

impl<'a> Step<'a> {
    /// The task of a task run, as it was meant.
    pub fn task(&self, at: TaskRunRef) -> &'a TaskDef {
        &self.planned(at).def
    }

    /// The same with the ids that it has.
    pub fn planned(&self, at: TaskRunRef) -> &'a PlannedTask {
        self.truth.planned(self.world, at)
    }
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
        Box::<blocked_for::BlockedFor>::default(),
        Box::new(budget::Budget),
        Box::<canceled::Canceled>::default(),
        Box::<deadline::Deadlines>::default(),
        Box::<delays::Delays>::default(),
        Box::new(ends::Ends),
        Box::new(fence::Fence),
        Box::new(journal::Journal),
        Box::new(level::Level),
        Box::new(limits::Limits),
        Box::<mapping::Mapping>::default(),
        Box::<not_before::NotBefore>::default(),
        Box::new(order::Order),
        Box::<preemption::Preemption>::default(),
        Box::<rests::Rests>::default(),
        Box::new(run_on::RunOn),
        Box::<single::Single>::default(),
        Box::new(slots::Slots),
        Box::<unique::Unique>::default(),
        Box::new(upstreams::Upstreams),
        Box::new(words::Words),
    ]
}

/// Those that judge a step by what it shows, and remember nothing of those before.
pub fn at_any_time() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(blocked_by::BlockedBy),
        Box::new(budget::Budget),
        Box::new(fence::Fence),
        Box::new(order::Order),
        Box::new(slots::Slots),
        Box::new(upstreams::Upstreams),
    ]
}

/// Those that judge where nothing is left to do, and need no story for it.
pub fn at_the_end() -> Vec<Box<dyn Checker>> {
    vec![Box::new(ends::Ends), Box::new(level::Level)]
}

/// What schedules must keep.
pub fn of_fires() -> Vec<Box<dyn Checker>> {
    vec![
        Box::<timed::Timed>::default(),
        Box::<watermark::Watermark>::default(),
        Box::<early::Early>::default(),
        Box::new(edited::Edited),
        Box::new(pauses::Pauses),
        Box::new(at_once::AtOnce),
        Box::new(reasons::Reasons),
        Box::<complete::Complete>::default(),
    ]
}
