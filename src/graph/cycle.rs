//! Cycles with their whole path.

use std::fmt;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

use super::Graph;

/// Nodes that wait for each other: each is an upstream of the next, and the last is the first
/// again. An edge to oneself is `[a, a]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<u32>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Numbers only, and few: whoever has names has a better message to give.
        match self.0.as_slice() {
            [first, second, ..] => {
                write!(f, "a cycle of {} nodes over {first} -> {second}", self.0.len() - 1)
            }
            _ => write!(f, "a cycle"),
        }
    }
}

impl std::error::Error for Cycle {}

impl Graph {
    /// One cycle per knot, ordered by their first nodes; empty where there is an order.
    ///
    /// A knot (strongly connected component) can hold more cycles than could ever be listed. We
    /// show a shortest one through its least node: short paths are read, and cutting one edge
    /// after the other along such paths ends.
    pub fn cycles(&self) -> Vec<Cycle> {
        let (_, waits) = self.peel();
        let mut knot = vec![NONE; self.len()];
        // Shared by all searches, since knots have no node in common.
        let mut came_from = vec![NONE; self.len()];
        let mut found = Vec::new();
        for (number, members) in (0u32..).zip(self.knots(&waits)) {
            let Some(&least) = members.iter().min() else { continue };
            for &member in &members {
                knot[member as usize] = number;
            }
            // Single nodes that are merely downstream of a knot have no way back.
            found.extend(self.way_back(
                least,
                |node| knot[node as usize] == number,
                &mut came_from,
            ));
        }
        found.sort_unstable_by_key(|cycle| cycle.0.first().copied());
        found
    }

    /// The strongly connected components of what an ordering left over.
    fn knots(&self, waits: &[u32]) -> Vec<Vec<u32>> {
        let left: Vec<u32> = self.nodes().filter(|&node| waits[node as usize] > 0).collect();
        if left.is_empty() {
            return Vec::new();
        }
        let mut place = vec![NONE; self.len()];
        let mut rest = DiGraph::<u32, ()>::with_capacity(left.len(), 0);
        for &node in &left {
            place[node as usize] = rest.add_node(node).index() as u32;
        }
        for &node in &left {
            for &next in self.downstream(node) {
                // All that is downstream of something left over is left over too.
                rest.add_edge(place[node as usize].into(), place[next as usize].into(), ());
            }
        }
        // Kosaraju's, since petgraph walks it with a stack of its own; its Tarjan recurses.
        let sets = kosaraju_scc(&rest);
        sets.into_iter().map(|set| set.into_iter().map(|at| rest[at]).collect()).collect()
    }

    /// A shortest way from `start` back to itself inside its knot, breadth first.
    fn way_back(
        &self,
        start: u32,
        in_knot: impl Fn(u32) -> bool,
        came_from: &mut [u32],
    ) -> Option<Cycle> {
        let mut queue = vec![start];
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            for &next in self.downstream(node) {
                if next == start {
                    let mut path = vec![start, node];
                    let mut back = node;
                    while back != start {
                        back = came_from[back as usize];
                        path.push(back);
                    }
                    path.reverse();
                    return Some(Cycle(path));
                }
                if in_knot(next) && came_from[next as usize] == NONE {
                    came_from[next as usize] = node;
                    queue.push(next);
                }
            }
            at += 1;
        }
        None
    }
}

/// No node: the constructor keeps this number free.
const NONE: u32 = u32::MAX;
