//! One binary for all integration tests: it links once. Each floor has a folder, each invariant
//! a checker file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod backfill;
mod calendar;
mod checkers;
mod documents;
mod engine;
mod graph;
mod model;
mod policy;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "runtime")]
mod runtime;
mod sim;
mod spec;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod store;
mod walls;
