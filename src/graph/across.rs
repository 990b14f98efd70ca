//! The same check over several dags at once.

use std::collections::BTreeSet;

use super::{Graph, check};
use crate::model::Problem;

/// One dag's share of a check over several.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The dag's name.
    pub dag: &'a str,
    /// Its tasks, without the dag's name.
    pub names: &'a [&'a str],
    /// `(downstream index, upstream)`, where the upstream is a task of this dag or, if this dag
    /// has no such task, the global name `dag.task` of another one's.
    pub edges: &'a [(usize, &'a str)],
}

/// What [`check`] does, over the tasks of all `parts` under their global names. A cycle that
/// closes only through a second or third dag is found with its whole path.
///
/// Tasks of the graph are numbered part after part, and so are the ids of its edges.
pub fn check_across(
    parts: &[Part<'_>],
    known_elsewhere: &dyn Fn(&str) -> bool,
) -> Result<Graph, Vec<Problem>> {
    let global = |dag: &str, task: &str| format!("{dag}.{task}");
    let mut names: Vec<String> = Vec::new();
    let mut edges: Vec<(usize, String)> = Vec::new();
    for part in parts {
        let offset = names.len();
        let local: BTreeSet<&str> = part.names.iter().copied().collect();
        names.extend(part.names.iter().map(|task| global(part.dag, task)));
        edges.extend(part.edges.iter().map(|&(task, upstream)| {
            let upstream = if local.contains(upstream) {
                global(part.dag, upstream)
            } else {
                upstream.to_owned()
            };
            // An index that is wrong in its part stays wrong in the whole.
            let task = if task < part.names.len() { offset + task } else { usize::MAX };
            (task, upstream)
        }));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<(usize, &str)> = edges.iter().map(|(task, up)| (*task, up.as_str())).collect();
    check(&names, &edges, known_elsewhere, "")
}
