//! The same answers from code too simple to be wrong.

use std::collections::BTreeSet;

use mainspring::graph::{Graph, GraphError};
use proptest::prelude::*;

/// Up to 14 nodes and any edges between them, self edges and repetitions included.
fn anything() -> impl Strategy<Value = (usize, Vec<(u32, u32)>)> {
    (1usize..14).prop_flat_map(|n| {
        let node = 0..n as u32;
        (Just(n), proptest::collection::vec((node.clone(), node), 0..30))
    })
}

fn once(edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut seen = BTreeSet::new();
    edges.iter().copied().filter(|edge| seen.insert(*edge)).collect()
}

/// The least possible next node, again and again.
fn naive_order(n: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut order: Vec<u32> = Vec::new();
    while order.len() < n {
        order.push((0..n as u32).find(|node| {
            !order.contains(node)
                && edges.iter().all(|(up, down)| down != node || order.contains(up))
        })?);
    }
    Some(order)
}

fn naive_down(from: &[u32], edges: &[(u32, u32)]) -> Vec<u32> {
    let mut found: BTreeSet<u32> = from.iter().copied().collect();
    for _ in 0..edges.len() {
        for (up, down) in edges {
            if found.contains(up) {
                found.insert(*down);
            }
        }
    }
    found.into_iter().collect()
}

proptest! {
    #[test]
    fn repeated_edges_are_found((n, edges) in anything()) {
        let want: Vec<u32> =
            (0..edges.len()).filter(|&i| edges[..i].contains(&edges[i])).map(|i| i as u32).collect();
        match Graph::new(n, &edges) {
            Ok(graph) => {
                prop_assert!(want.is_empty());
                prop_assert_eq!(graph.edge_count(), edges.len());
            }
            Err(GraphError::Duplicate(all)) => {
                prop_assert_eq!(all.iter().map(|d| d.again).collect::<Vec<_>>(), want);
                for d in all {
                    prop_assert_eq!(edges[d.first as usize], edges[d.again as usize]);
                    prop_assert!(!edges[..d.first as usize].contains(&edges[d.first as usize]));
                }
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn rows_are_the_edges((n, edges) in anything()) {
        let edges = once(&edges);
        let graph = Graph::new(n, &edges).unwrap();
        for node in 0..n as u32 {
            let up: Vec<_> = edges.iter().filter(|e| e.1 == node).map(|e| e.0).collect();
            let down: Vec<_> = edges.iter().filter(|e| e.0 == node).map(|e| e.1).collect();
            prop_assert_eq!(graph.upstream(node), up);
            prop_assert_eq!(graph.downstream(node), down);
            for (&up, &id) in graph.upstream(node).iter().zip(graph.upstream_edges(node)) {
                prop_assert_eq!(edges[id as usize], (up, node));
            }
            for (&down, &id) in graph.downstream(node).iter().zip(graph.downstream_edges(node)) {
                prop_assert_eq!(edges[id as usize], (node, down));
            }
        }
    }

    #[test]
    fn order_is_the_naive_one_or_a_real_cycle((n, edges) in anything()) {
        let edges = once(&edges);
        let graph = Graph::new(n, &edges).unwrap();
        match (graph.order(), naive_order(n, &edges)) {
            (Ok(order), Some(want)) => {
                prop_assert_eq!(order, want);
                prop_assert!(graph.cycles().is_empty());
                let levels = graph.levels().unwrap();
                for node in 0..n as u32 {
                    let above = graph.upstream(node).iter().map(|&up| levels[up as usize] + 1);
                    prop_assert_eq!(levels[node as usize], above.max().unwrap_or(0));
                }
            }
            (Err(cycle), None) => {
                prop_assert_eq!(&cycle, &graph.cycles()[0]);
                prop_assert!(graph.levels().is_err());
            }
            (got, want) => prop_assert!(false, "{:?} but {:?}", got, want),
        }
    }

    #[test]
    fn one_shortest_cycle_per_knot((n, edges) in anything()) {
        let edges = once(&edges);
        let graph = Graph::new(n, &edges).unwrap();
        // Two nodes share a knot if each reaches the other; a node alone needs a self edge.
        let after = |node: u32| naive_down(graph.downstream(node), &edges);
        let in_knot: Vec<u32> = (0..n as u32).filter(|&node| after(node).contains(&node)).collect();
        let knots: BTreeSet<Vec<u32>> = in_knot
            .iter()
            .map(|&a| in_knot.iter().copied()
                .filter(|&b| after(a).contains(&b) && after(b).contains(&a)).collect())
            .collect();
        let cycles = graph.cycles();
        prop_assert_eq!(cycles.len(), knots.len());
        for (cycle, knot) in cycles.iter().zip(&knots) {
            let path = &cycle.0;
            prop_assert!(path.len() >= 2 && path.first() == path.last());
            prop_assert_eq!(path.first(), knot.first());
            prop_assert!(path.windows(2).all(|step| edges.contains(&(step[0], step[1]))));
            let inner: BTreeSet<_> = path[1..].iter().collect();
            prop_assert_eq!(inner.len(), path.len() - 1, "no node twice");
            // No way back is shorter: spread from the first node step by step.
            let mut front: BTreeSet<u32> = [path[0]].into();
            for _ in 1..path.len() - 1 {
                front = front.iter().flat_map(|&x| graph.downstream(x)).copied().collect();
                prop_assert!(!front.contains(&path[0]));
            }
        }
    }

    #[test]
    fn closures_are_the_naive_ones(
        (n, edges) in anything(),
        from in proptest::collection::vec(0u32..14, 0..4),
    ) {
        let edges = once(&edges);
        let graph = Graph::new(n, &edges).unwrap();
        let from: Vec<u32> = from.into_iter().filter(|&node| (node as usize) < n).collect();
        let turned: Vec<_> = edges.iter().map(|&(up, down)| (down, up)).collect();
        prop_assert_eq!(graph.reachable_down(&from), naive_down(&from, &edges));
        prop_assert_eq!(graph.reachable_up(&from), naive_down(&from, &turned));
    }
}
