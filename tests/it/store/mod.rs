//! The store: one suite over all of them, and what only a file can do.

mod conformance;
#[cfg(feature = "sqlite")]
mod opening;
#[cfg(feature = "sqlite")]
mod plans;
#[cfg(feature = "sqlite")]
mod same;
#[cfg(feature = "sqlite")]
mod sharing;
mod support;
mod verify;
#[cfg(feature = "sqlite")]
mod views;
