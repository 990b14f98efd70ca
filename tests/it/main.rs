//! The one test binary: a module for each floor, so that linking happens once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; helpers of tests are tests"
)]

mod calendar;
