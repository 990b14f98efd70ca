//! The rules of the engine, in rows of text.

pub mod bench;
mod blocking;
mod conditions;
mod explaining;
mod firing;
mod large;
mod mapping;
mod moments;
mod queue;
mod retries;
mod stops;
mod texts;
mod versions;
mod waiting;
