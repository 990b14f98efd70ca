//! One test binary for the Rust floors; each floor has a folder, each invariant a checker file.

// Helpers of tests are no functions marked as tests, which clippy.toml lets off by itself.
#![allow(clippy::unwrap_used, clippy::panic)]

mod checkers;
mod engine;
mod model;
mod sim;
