//! How: when to try again. Pure functions of numbers.

pub mod retry;
