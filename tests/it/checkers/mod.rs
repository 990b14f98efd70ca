//! Invariants, one a file.
