//! One test binary for the Rust floors; each floor has a folder, each invariant a checker file.

mod model;
mod store;
