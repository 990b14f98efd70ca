//! Topological order and layers.

use super::least::Least;
use super::{Cycle, Graph};

impl Graph {
    /// Every node after all that it waits for; among those that could come next, the one with
    /// the least index does. A definition whose tasks already stand in a possible order is
    /// therefore given back as it was written.
    pub fn order(&self) -> Result<Vec<u32>, Cycle> {
        let (order, _) = self.peel();
        if order.len() == self.len() {
            return Ok(order);
        }
        // What is left always holds a cycle: each of its nodes waits for another one of it.
        Err(self.cycles().into_iter().next().unwrap_or(Cycle(Vec::new())))
    }

    /// Kahn's algorithm as far as it goes, with the number of upstreams that each node still
    /// waits for: zero for all that was ordered.
    pub(super) fn peel(&self) -> (Vec<u32>, Vec<u32>) {
        let mut waits: Vec<u32> = self.nodes().map(|node| self.in_degree(node) as u32).collect();
        let mut ready = Least::new(self.len());
        for node in self.nodes().filter(|&node| waits[node as usize] == 0) {
            ready.insert(node);
        }
        let mut order = Vec::with_capacity(self.len());
        while let Some(node) = ready.pop() {
            order.push(node);
            for &next in self.downstream(node) {
                let left = &mut waits[next as usize];
                *left -= 1;
                if *left == 0 {
                    ready.insert(next);
                }
            }
        }
        (order, waits)
    }

    /// The layer of each node, for pictures: 0 for roots, else one below its lowest upstream.
    pub fn levels(&self) -> Result<Vec<u32>, Cycle> {
        let mut levels = vec![0; self.len()];
        for node in self.order()? {
            let below = levels[node as usize] + 1;
            for &next in self.downstream(node) {
                let level = &mut levels[next as usize];
                *level = below.max(*level);
            }
        }
        Ok(levels)
    }
}
