//! GROUND: plain data. What a task, a run and an attempt are, and which words we use for them.

mod problem;

pub use problem::{Problem, SpecError};
