//! Who waits for whom: building, ordering, cycles with their path, closures.
//!
//! Nodes are numbers here and names only at the door: [`check`] turns names into a [`Graph`] or
//! into every problem that there is, and what comes after works on `u32` indexes. Nothing on
//! this floor recurses, because a chain of a hundred thousand tasks is a graph that people make.
//!
//! An edge always reads "upstream, downstream": the second waits for the first.
//!
//! strsim measures how far a wrong name is from a right one. Of petgraph we use the search for
//! strongly connected components, and only once a cycle is known to exist. The graph itself is
//! our own: in compressed rows the neighbours of a node lie side by side, in the author's order,
//! and are handed out as a slice, where petgraph follows a linked list of edges. Its
//! `tarjan_scc` recurses per node and its `toposort` promises no order among equals, so neither
//! would do here.

mod across;
mod closure;
mod csr;
mod cycle;
mod least;
mod names;
mod nearest;
mod order;

pub use across::{Part, check_across};
pub use csr::{Duplicate, Graph, GraphError};
pub use cycle::Cycle;
pub use names::check;
pub use nearest::Nearest;
