//! Closures: what a rerun or a backfill of some nodes reaches.

use super::Graph;

impl Graph {
    /// The nodes given and all that wait for them, directly or not; sorted, each once.
    /// Unknown nodes are ignored.
    pub fn reachable_down(&self, from: &[u32]) -> Vec<u32> {
        self.closure(from, Graph::downstream)
    }

    /// The nodes given and all that they wait for, directly or not; sorted, each once.
    /// Unknown nodes are ignored.
    pub fn reachable_up(&self, from: &[u32]) -> Vec<u32> {
        self.closure(from, Graph::upstream)
    }

    fn closure<'a>(&'a self, from: &[u32], next: fn(&'a Graph, u32) -> &'a [u32]) -> Vec<u32> {
        let mut seen = vec![false; self.len()];
        let mut found: Vec<u32> = Vec::new();
        let visit = |node: u32, seen: &mut Vec<bool>, found: &mut Vec<u32>| {
            if let Some(mark) = seen.get_mut(node as usize)
                && !std::mem::replace(mark, true)
            {
                found.push(node);
            }
        };
        for &node in from {
            visit(node, &mut seen, &mut found);
        }
        let mut at = 0;
        while let Some(&node) = found.get(at) {
            for &neighbour in next(self, node) {
                visit(neighbour, &mut seen, &mut found);
            }
            at += 1;
        }
        found.sort_unstable();
        found
    }
}
