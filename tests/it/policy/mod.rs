//! The policy floor: tables and properties.

mod delay;
mod priority;
mod retry;
mod slots;
