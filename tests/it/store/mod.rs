//! The store: one suite over all of them, and what only a file can do.

mod conformance;
mod support;
