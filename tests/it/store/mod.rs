//! The store: one suite over all of them, and what only a file can do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests are tests too")]
#![allow(clippy::disallowed_methods, reason = "threads of a test are joined by it")]

mod conformance;
#[cfg(feature = "sqlite")]
mod history;
#[cfg(feature = "sqlite")]
mod opening;
#[cfg(feature = "sqlite")]
mod plans;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod same;
#[cfg(feature = "sqlite")]
mod sharing;
mod support;
#[cfg(feature = "sqlite")]
mod upgrade;
mod verify;
#[cfg(feature = "sqlite")]
mod views;
