//! GROUND: plain data. What a task, a run and an attempt are, and which words we use for them.

mod date;
mod instant;
mod problem;

pub use date::Date;
pub use instant::Instant;
pub use problem::{Problem, SpecError};
