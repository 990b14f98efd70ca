//! One test binary for the Rust floors; each floor has a folder, each invariant a checker file.

mod checkers;
mod engine;
mod model;
mod sim;
