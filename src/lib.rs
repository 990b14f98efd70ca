//! mainspring: scheduling for people who move data.
//!
//! The floors, in reading order. A floor may use the floors above it in this list, never those
//! below; `tests/it/walls.rs` holds the table and reads every `use` line.

pub mod model;

pub mod calendar;

pub mod graph;

pub mod policy;

pub mod engine;

pub mod store;

#[cfg(feature = "runtime")]
pub mod runtime;

#[cfg(feature = "python")]
mod python;
