//! One binary for all integration tests: it links once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod calendar;
mod checkers;
mod documents;
mod engine;
mod graph;
mod model;
mod policy;
mod sim;
mod spec;
#[cfg(feature = "sqlite")]
mod store;
mod walls;
