//! The driver with real threads, a real database file and handlers that are Rust closures.

mod crash;
mod faults;
mod following;
mod handlers;
mod life;
mod mapping;
mod output;
mod pools;
#[cfg(unix)]
mod processes;
mod render;
mod rests;
mod retry;
mod serving;
mod takeover;
