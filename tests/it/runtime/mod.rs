//! The driver with real threads, a real database file and handlers that are Rust closures.

mod crash;
mod faults;
mod handlers;
mod life;
mod mapping;
mod output;
mod pools;
mod render;
mod retry;
mod serving;
mod takeover;
