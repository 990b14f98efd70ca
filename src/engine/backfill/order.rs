//! In which order the runs of a plan are made: none before one that it waits for.
//!
//! Runs that wait for each other's tasks are of one group. A range of runs that waits for a range
//! of others is one knot in between, and not an edge for each two of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Who waits for whom.
#[derive(Debug, Default)]
pub struct Waits {
    /// How many runs there are.
    runs: u32,
    /// Edges between runs and knots; knots are numbered after the runs.
    edges: Vec<(u32, u32)>,
    knots: u32,
}

impl Waits {
    /// So many runs that wait for nothing.
    pub fn new(runs: u32) -> Waits {
        Waits { runs, ..Waits::default() }
    }

    /// Each of some runs waits for each of others.
    pub fn add(&mut self, ups: &[u32], downs: &[u32]) {
        match (ups, downs) {
            ([], _) | (_, []) => {}
            ([up], downs) => self.edges.extend(downs.iter().map(|down| (*up, *down))),
            (ups, [down]) => self.edges.extend(ups.iter().map(|up| (*up, *down))),
            _ => {
                let knot = self.runs + self.knots;
                self.knots += 1;
                self.edges.extend(ups.iter().map(|up| (*up, knot)));
                self.edges.extend(downs.iter().map(|down| (knot, *down)));
            }
        }
    }

    /// Runs that are made together.
    pub fn join(&mut self, one: u32, other: u32) {
        self.edges.push((one, other));
        self.edges.push((other, one));
    }

    /// The runs in order, each with its group. Of those that may come next, the one with the least
    /// key does.
    pub fn order(&mut self, key: &dyn Fn(u32) -> (i64, i64)) -> Vec<(u32, u32)> {
        self.edges.retain(|(up, down)| up != down);
        let nodes = self.runs + self.knots;
        let below = Below::new(nodes, &self.edges);
        let alone: Vec<u32> = (0..nodes).collect();
        let order = self.sorted(&below, &alone, key);
        if order.len() == self.runs as usize {
            return order;
        }
        let parts = below.components();
        self.sorted(&below, &parts, key)
    }

    /// Who waits for each node, and for how many each waits.
    pub(super) fn below(&self) -> (Below, Vec<u32>) {
        let nodes = self.runs + self.knots;
        let mut waiting = vec![0; nodes as usize];
        self.edges.iter().for_each(|(_, down)| waiting[*down as usize] += 1);
        (Below::new(nodes, &self.edges), waiting)
    }

    /// Whether a node is no run.
    pub(super) fn is_knot(&self, node: u32) -> bool {
        node >= self.runs
    }

    /// The runs in order, where those of one part come together.
    fn sorted(
        &self,
        below: &Below,
        parts: &[u32],
        key: &dyn Fn(u32) -> (i64, i64),
    ) -> Vec<(u32, u32)> {
        let nodes = parts.len();
        let mut waits = vec![0u32; nodes];
        for (up, down) in &self.edges {
            let (up, down) = (parts[*up as usize], parts[*down as usize]);
            waits[down as usize] += u32::from(up != down);
        }
        // Members of the parts that have several.
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (node, part) in (0u32..).zip(parts) {
            if node != *part {
                members.entry(*part).or_insert_with(|| vec![*part]).push(node);
            }
        }
        let is_run = |node: &u32| *node < self.runs;
        let of = |part: u32| members.get(&part).cloned().unwrap_or_else(|| vec![part]);
        let rank = |part: u32| of(part).iter().filter(|node| is_run(node)).map(|at| key(*at)).min();
        let mut ready = BinaryHeap::new();
        let mut knots: Vec<u32> = Vec::new();
        let free = |part: u32, ready: &mut BinaryHeap<_>, knots: &mut Vec<u32>| match rank(part) {
            Some(key) => ready.push(Reverse((key, part))),
            None => knots.push(part),
        };
        for (node, part) in (0u32..).zip(parts) {
            if node == *part && waits[node as usize] == 0 {
                free(node, &mut ready, &mut knots);
            }
        }
        let (mut order, mut group) = (Vec::with_capacity(self.runs as usize), 0);
        loop {
            let part = match knots.pop() {
                Some(knot) => knot,
                None => match ready.pop() {
                    Some(Reverse((_, part))) => part,
                    None => return order,
                },
            };
            let mut runs: Vec<u32> = of(part);
            for node in &runs {
                for down in below.of(*node) {
                    let down = parts[*down as usize];
                    if down != part {
                        waits[down as usize] -= 1;
                        if waits[down as usize] == 0 {
                            free(down, &mut ready, &mut knots);
                        }
                    }
                }
            }
            runs.retain(is_run);
            runs.sort_by_key(|run| key(*run));
            let is_any = !runs.is_empty();
            order.extend(runs.into_iter().map(|run| (run, group)));
            group += u32::from(is_any);
        }
    }
}

/// Who waits for each node.
pub(super) struct Below {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Below {
    fn new(nodes: u32, edges: &[(u32, u32)]) -> Below {
        let mut starts = vec![0u32; nodes as usize + 1];
        for (up, _) in edges {
            starts[*up as usize + 1] += 1;
        }
        for at in 0..nodes as usize {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut below = vec![0u32; edges.len()];
        for (up, down) in edges {
            let place = &mut next[*up as usize];
            below[*place as usize] = *down;
            *place += 1;
        }
        Below { starts, nodes: below }
    }

    /// Who waits for a node.
    pub(super) fn of(&self, node: u32) -> &[u32] {
        let (from, to) = (self.starts[node as usize], self.starts[node as usize + 1]);
        &self.nodes[from as usize..to as usize]
    }

    /// For each node the least node of its circle, itself where it is on none (Tarjan, without
    /// recursion).
    fn components(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let nodes = self.starts.len() - 1;
        let (mut index, mut low) = (vec![NONE; nodes], vec![0u32; nodes]);
        let mut part = vec![NONE; nodes];
        let mut stack = Vec::new();
        let mut counter = 0;
        for root in 0..nodes as u32 {
            if index[root as usize] != NONE {
                continue;
            }
            let mut calls: Vec<(u32, usize)> = vec![(root, 0)];
            'calls: while let Some((node, mut at)) = calls.pop() {
                let here = node as usize;
                if index[here] == NONE {
                    (index[here], low[here]) = (counter, counter);
                    counter += 1;
                    stack.push(node);
                }
                while let Some(down) = self.of(node).get(at) {
                    let there = *down as usize;
                    if index[there] == NONE {
                        // This edge is looked at again when that is done.
                        calls.extend([(node, at), (*down, 0)]);
                        continue 'calls;
                    }
                    if part[there] == NONE {
                        low[here] = low[here].min(low[there]);
                    }
                    at += 1;
                }
                if low[here] == index[here] {
                    let from = stack.iter().rposition(|each| *each == node).unwrap_or(0);
                    let circle: BTreeSet<u32> = stack.split_off(from).into_iter().collect();
                    let least = circle.first().copied().unwrap_or(node);
                    circle.iter().for_each(|each| part[*each as usize] = least);
                }
            }
        }
        part
    }
}
