//! How long a million tasks take to be checked and ordered, beside petgraph's `toposort` of the
//! same graph in the same run. The ratio is what counts: wall time on a shared machine is not.
//!
//! `cargo bench --no-default-features --bench graph`

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use mainspring::graph::{Graph, check};
use petgraph::graph::DiGraph;

const ROUNDS: usize = 7;

/// A layered graph: each node waits for `parents` different nodes among the `window` before it.
fn layered(nodes: u32, parents: u32, window: u32) -> Vec<(u32, u32)> {
    let mut edges = Vec::with_capacity((nodes * parents) as usize);
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    for down in 1..nodes {
        let reach = window.min(down);
        let parents = parents.min(reach);
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = reach / parents;
        let first = (dice >> 33) as u32 % step.max(1);
        edges.extend((0..parents).map(|k| (down - 1 - first - k * step, down)));
    }
    edges
}

/// The same graph with its nodes under other numbers, so that nothing is sorted by luck.
fn shuffled(edges: &[(u32, u32)], nodes: u32) -> Vec<(u32, u32)> {
    // An odd factor without a common divisor permutes the numbers.
    let other = |node: u32| (u64::from(node) * 7_368_787 % u64::from(nodes)) as u32;
    edges.iter().map(|&(up, down)| (other(up), other(down))).collect()
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn compare(name: &str, nodes: u32, edges: &[(u32, u32)]) {
    let n = nodes as usize;
    let other = DiGraph::<(), ()>::from_edges(edges);
    let Ok(graph) = Graph::new(n, edges) else {
        println!("{name}: not a graph");
        return;
    };
    let toposort = best(|| petgraph::algo::toposort(&other, None).is_ok());
    let build = best(|| Graph::new(n, edges).is_ok());
    let order = best(|| graph.order().is_ok());
    let both = best(|| Graph::new(n, edges).map(|graph| graph.order().is_ok()).is_ok());
    println!(
        "{name}: {nodes} nodes, {} edges: build {build:.1?}, order {order:.1?}, both {both:.1?}; \
         petgraph toposort {toposort:.1?}; order {:.2}x, both {:.2}x of it",
        edges.len(),
        order.as_secs_f64() / toposort.as_secs_f64(),
        both.as_secs_f64() / toposort.as_secs_f64(),
    );
}

fn by_name(nodes: u32, edges: &[(u32, u32)]) {
    let names: Vec<String> = (0..nodes).map(|i| format!("task_{i:06}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<_> = edges.iter().map(|&(u, d)| (d as usize, names[u as usize])).collect();
    let took = best(|| check(&names, &edges, &|_| false, "dag").is_ok());
    println!("by name: {nodes} tasks, {} edges: checked in {took:.1?}", edges.len());
}

fn main() {
    let edges = layered(1_000_000, 3, 1_000);
    compare("layered", 1_000_000, &edges);
    compare("layered, shuffled", 1_000_000, &shuffled(&edges, 1_000_000));
    let chain: Vec<_> = (1..1_000_000).map(|i| (i - 1, i)).collect();
    compare("chain", 1_000_000, &chain);
    by_name(100_000, &layered(100_000, 3, 1_000));
}
