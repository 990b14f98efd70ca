//! The rules of the engine, in rows of text.

mod admitting;
pub mod bench;
mod blocking;
mod circles;
mod conditions;
mod deadlines;
mod explaining;
mod firing;
mod large;
mod limits;
mod mapping;
mod moments;
mod patience;
mod preemption;
mod queue;
mod retries;
mod stops;
mod texts;
mod versions;
mod waiting;
