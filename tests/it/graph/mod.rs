//! The graph floor: shapes that break recursion, and a naive model beside it.

mod across;
mod naive;
mod names;
mod shapes;
