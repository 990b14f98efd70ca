//! Seeded worlds under faults.

pub mod rows;
