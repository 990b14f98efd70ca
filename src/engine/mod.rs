//! What next: the world, something that happened and the time make a decision.
//!
//! `decide` reads and `apply` writes; neither knows a clock, a store, a thread or chance. `event`
//! and `action` are the two closed lists: all that may happen, and all that may be done about it.

mod action;
mod check;
mod event;
mod plan;

pub use action::{
    CreateRun, Decision, Effect, End, Late, LeaseStop, Move, PlanRef, RunMove, Start, TaskRunRef,
};
pub use check::{check_definition, check_schedule};
pub use event::{Event, NewRun, Report, RerunWhat, Stop};
pub use plan::{Plan, PlannedTask};
