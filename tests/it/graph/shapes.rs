//! Shapes that overflow a stack or turn quadratic where somebody was careless.

use mainspring::graph::{Graph, GraphError, check};

fn chain(n: u32) -> Vec<(u32, u32)> {
    (1..n).map(|i| (i - 1, i)).collect()
}

#[test]
fn chain_of_a_hundred_thousand() {
    let n = 100_000;
    let graph = Graph::new(n as usize, &chain(n)).unwrap();
    assert_eq!(graph.order().unwrap(), (0..n).collect::<Vec<_>>());
    assert_eq!(graph.levels().unwrap(), (0..n).collect::<Vec<_>>());
    assert_eq!(graph.reachable_down(&[n / 2]).len(), n as usize / 2);
    assert_eq!(graph.reachable_up(&[n / 2]).len(), n as usize / 2 + 1);
    assert_eq!((graph.roots(), graph.leaves()), (vec![0], vec![n - 1]));
}

#[test]
fn ring_of_a_hundred_thousand_shows_a_path_that_can_be_read() {
    let n = 100_000;
    let mut edges = chain(n);
    edges.push((n - 1, 0));
    let cycle = Graph::new(n as usize, &edges).unwrap().order().unwrap_err();
    assert_eq!(cycle.0.len(), n as usize + 1);

    let names: Vec<String> = (0..n).map(|i| format!("t{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<_> = edges.iter().map(|&(u, d)| (d as usize, names[u as usize])).collect();
    let problems = check(&names, &edges, &|_| false, "").unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].message,
        "tasks wait for each other: \
         t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> t6 -> t7 -> t8 -> t9 -> ... 99980 more ... -> \
         t99990 -> t99991 -> t99992 -> t99993 -> t99994 -> t99995 -> t99996 -> t99997 -> \
         t99998 -> t99999 -> t0"
    );
}

#[test]
fn fifty_thousand_small_knots_are_all_found() {
    let edges: Vec<_> =
        (0..50_000).flat_map(|i| [(2 * i, 2 * i + 1), (2 * i + 1, 2 * i)]).collect();
    let cycles = Graph::new(100_000, &edges).unwrap().cycles();
    assert_eq!(cycles.len(), 50_000);
    assert_eq!(cycles[49_999].0, [99_998, 99_999, 99_998]);
}

#[test]
fn fan_of_ten_thousand() {
    let edges: Vec<_> = (1..=10_000).map(|i| (0, i)).collect();
    let graph = Graph::new(10_001, &edges).unwrap();
    assert_eq!(graph.order().unwrap(), (0..=10_000).collect::<Vec<_>>());
    assert_eq!(graph.levels().unwrap().iter().sum::<u32>(), 10_000);
    assert_eq!(graph.reachable_up(&[10_000]), [0, 10_000]);
}

#[test]
fn ladder_of_two_by_ten_thousand() {
    // More paths than atoms: whoever counts or copies paths does not come back.
    let rungs = 10_000;
    let edges: Vec<_> = (1..rungs)
        .flat_map(|i| {
            let (above, here) = (2 * (i - 1), 2 * i);
            [(above, here), (above, here + 1), (above + 1, here), (above + 1, here + 1)]
        })
        .collect();
    let graph = Graph::new(2 * rungs as usize, &edges).unwrap();
    assert_eq!(graph.order().unwrap(), (0..2 * rungs).collect::<Vec<_>>());
    assert_eq!(graph.levels().unwrap().last(), Some(&(rungs - 1)));
    assert_eq!(graph.reachable_down(&[0]).len(), 2 * rungs as usize - 1);
}

#[test]
fn everyone_waits_for_everyone_of_a_hundred() {
    let edges: Vec<_> = (0..100).flat_map(|u| (100..200).map(move |d| (u, d))).collect();
    let graph = Graph::new(200, &edges).unwrap();
    assert_eq!(graph.edge_count(), 10_000);
    assert_eq!(graph.upstream(150), (0..100).collect::<Vec<_>>());
    assert_eq!(graph.order().unwrap(), (0..200).collect::<Vec<_>>());
}

#[test]
fn out_to_fifty_thousand_and_back_to_one() {
    let wide = 50_000;
    let edges: Vec<_> = (1..=wide).flat_map(|i| [(0, i), (i, wide + 1)]).collect();
    let graph = Graph::new(wide as usize + 2, &edges).unwrap();
    assert_eq!(graph.in_degree(wide + 1), wide as usize);
    assert_eq!(graph.levels().unwrap()[wide as usize + 1], 2);
    assert_eq!(graph.reachable_down(&[0]).len(), graph.len());
}

#[test]
fn nothing_is_a_graph_too() {
    let graph = Graph::new(0, &[]).unwrap();
    assert!(graph.is_empty());
    assert_eq!(graph.order().unwrap(), Vec::<u32>::new());
    assert_eq!(graph.reachable_down(&[7]), Vec::<u32>::new());
    assert!(graph.upstream(3).is_empty() && graph.downstream_edges(u32::MAX).is_empty());
}

#[test]
fn edges_that_make_no_graph_are_named_by_position() {
    let error = Graph::new(2, &[(0, 1), (0, 2)]).unwrap_err();
    assert_eq!(error, GraphError::NoSuchNode { edge: 1, node: 2 });
    let error = Graph::new(3, &[(0, 2), (0, 1), (0, 2), (1, 2), (0, 1)]).unwrap_err();
    let GraphError::Duplicate(all) = &error else { panic!("{error}") };
    assert_eq!(all.iter().map(|d| (d.first, d.again)).collect::<Vec<_>>(), [(0, 2), (1, 4)]);
    assert_eq!(error.to_string(), "edge 2 repeats edge 0");
}

#[test]
fn payloads_stand_beside_the_edges() {
    let graph = Graph::with_ids(3, &[(0, 2), (1, 2)], &[70, 80]).unwrap();
    assert_eq!((graph.upstream(2), graph.upstream_edges(2)), (&[0, 1][..], &[70, 80][..]));
    assert_eq!((graph.downstream(1), graph.downstream_edges(1)), (&[2][..], &[80][..]));
}

#[test]
fn what_is_written_in_a_possible_order_comes_back_as_written() {
    let graph = Graph::new(5, &[(0, 3), (3, 4), (1, 2)]).unwrap();
    assert_eq!(graph.order().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(graph.levels().unwrap(), [0, 0, 1, 1, 2]);
}
