//! From names to a graph, or to everything that is wrong with them.

use std::collections::BTreeMap;

use super::nearest::Nearest;
use super::{Cycle, Duplicate, Graph, GraphError};
use crate::model::Problem;

/// Names of a cycle that are shown at most; of longer ones the middle is counted.
const SHOWN: usize = 20;

/// Builds the graph of the tasks `names` from edges `(downstream index, upstream name)`, or says
/// everything that is wrong: `duplicate_task`, `unknown_upstream`, `duplicate_edge`, `cycle`.
///
/// Give only the edges that the cycle check is about (not weak ones, nor those to an earlier
/// period). An edge to a name that is not here but `known_elsewhere` is right and not part of
/// the graph. The ids of the graph's edges are their positions in `edges`. `place` is what the
/// tasks belong to, such as the dag; a problem's place is that and the task.
pub fn check(
    names: &[&str],
    edges: &[(usize, &str)],
    known_elsewhere: &dyn Fn(&str) -> bool,
    place: &str,
) -> Result<Graph, Vec<Problem>> {
    let mut checking = Checking { names, edges, place, problems: Vec::new() };
    let known = checking.index();
    let mut local = checking.resolve(&known, known_elsewhere);
    let graph = checking.build(&mut local);
    match graph {
        Some(graph) if checking.problems.is_empty() => Ok(graph),
        _ => Err(checking.problems),
    }
}

struct Checking<'a> {
    names: &'a [&'a str],
    edges: &'a [(usize, &'a str)],
    place: &'a str,
    problems: Vec<Problem>,
}

/// The edges between the tasks at hand, with their positions among all.
#[derive(Default)]
struct Local {
    pairs: Vec<(u32, u32)>,
    ids: Vec<u32>,
}

impl Local {
    fn retain(&mut self, keep: impl Fn(usize, (u32, u32)) -> bool) {
        let kept: Vec<usize> =
            (0..self.pairs.len()).filter(|&at| keep(at, self.pairs[at])).collect();
        self.pairs = kept.iter().map(|&at| self.pairs[at]).collect();
        self.ids = kept.iter().map(|&at| self.ids[at]).collect();
    }
}

impl<'a> Checking<'a> {
    fn report(&mut self, code: &'static str, task: &str, message: String, hint: &str) {
        let place = match (self.place, task) {
            ("", only) | (only, "") => only.to_owned(),
            (place, task) => format!("{place}.{task}"),
        };
        let problem = Problem::new(code, place, message);
        self.problems.push(if hint.is_empty() { problem } else { problem.hint(hint) });
    }

    fn name(&self, node: u32) -> &'a str {
        self.names.get(node as usize).copied().unwrap_or_default()
    }

    /// Where each name stands first.
    fn index(&mut self) -> BTreeMap<&'a str, u32> {
        let mut known = BTreeMap::new();
        let mut again = BTreeMap::new();
        for (at, &name) in (0u32..).zip(self.names) {
            if known.contains_key(name) {
                *again.entry(name).or_insert(1) += 1;
            } else {
                known.insert(name, at);
            }
        }
        for (name, times) in again {
            let message = format!("{times} tasks are named `{name}`");
            self.report("duplicate_task", name, message, "give each task a name of its own");
        }
        known
    }

    /// Looks the upstream names up.
    fn resolve(
        &mut self,
        known: &BTreeMap<&'a str, u32>,
        known_elsewhere: &dyn Fn(&str) -> bool,
    ) -> Local {
        let mut local = Local::default();
        let mut outside = BTreeMap::new();
        let mut nearest = Nearest::new(self.names);
        for (id, &(task, upstream)) in (0u32..).zip(self.edges) {
            let Some(&name) = self.names.get(task) else {
                let message =
                    format!("edge {id} belongs to task number {task}, which is not there");
                self.report("unknown_task", &task.to_string(), message, "");
                continue;
            };
            if let Some(&up) = known.get(upstream) {
                local.pairs.push((up, task as u32));
                local.ids.push(id);
            } else if let Some(first) = outside.insert((task, upstream), id) {
                self.duplicate_edge(first, id);
            } else if !known_elsewhere(upstream) {
                let hint = match nearest.find(upstream) {
                    Some(like) => format!("did you mean `{like}`?"),
                    None => String::new(),
                };
                let message = format!("upstream `{upstream}` does not exist");
                self.report("unknown_upstream", name, message, &hint);
            }
        }
        local
    }

    fn build(&mut self, local: &mut Local) -> Option<Graph> {
        let n = self.names.len();
        if let Err(GraphError::Duplicate(all)) = Graph::new(n, &local.pairs) {
            for Duplicate { first, again } in &all {
                self.duplicate_edge(local.ids[*first as usize], local.ids[*again as usize]);
            }
            let again: Vec<u32> = all.iter().map(|duplicate| duplicate.again).collect();
            local.retain(|at, _| again.binary_search(&(at as u32)).is_err());
        }
        // Edges to oneself are reported here and then left out, so that the larger cycle behind
        // one is found as well.
        for &(up, down) in &local.pairs {
            if up == down {
                let name = self.name(up);
                let message = format!("the task waits for itself: {name} -> {name}");
                let hint = "take the edge to itself out";
                self.report("cycle", name, message, hint);
            }
        }
        local.retain(|_, (up, down)| up != down);
        match Graph::with_ids(n, &local.pairs, &local.ids) {
            Ok(graph) => {
                for cycle in graph.cycles() {
                    self.cycle(&cycle);
                }
                Some(graph)
            }
            Err(error) => {
                self.report("too_large", "", error.to_string(), "");
                None
            }
        }
    }

    fn duplicate_edge(&mut self, first: u32, again: u32) {
        let Some(&(task, upstream)) = self.edges.get(again as usize) else { return };
        let name = self.names.get(task).copied().unwrap_or_default();
        let message = format!("upstream `{upstream}` is given twice (edges {first} and {again})");
        self.report("duplicate_edge", name, message, "keep one of the two");
    }

    fn cycle(&mut self, cycle: &Cycle) {
        let Some(&start) = cycle.0.first() else { return };
        let message = format!("tasks wait for each other: {}", self.path(&cycle.0));
        let hint = "take one of these edges out, or make it WEAK if it need not be waited for";
        self.report("cycle", self.name(start), message, hint);
    }

    /// `a -> b -> c -> a`, with the middle of a long path counted instead of shown.
    fn path(&self, nodes: &[u32]) -> String {
        let show = |part: &[u32]| {
            part.iter().map(|&node| self.name(node)).collect::<Vec<_>>().join(" -> ")
        };
        // The closing repetition of the first name is not counted.
        if nodes.len() <= SHOWN + 1 {
            return show(nodes);
        }
        let (head, tail) = (SHOWN / 2, nodes.len() - SHOWN / 2 - 1);
        let between = tail - head;
        format!("{} -> ... {between} more ... -> {}", show(&nodes[..head]), show(&nodes[tail..]))
    }
}
