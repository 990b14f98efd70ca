//! The graph floor: real graphs, shapes that break recursion, and a naive model beside it.

mod across;
mod naive;
mod names;
mod real;
mod shapes;
