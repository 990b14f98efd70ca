//! One test binary for the Rust floors; each floor has a folder, each invariant a checker file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod model;
mod spec;
