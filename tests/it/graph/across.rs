//! Cycles that no single dag can see.

use mainspring::graph::{Part, check_across};

#[test]
fn a_ring_over_three_dags_is_refused_with_its_path() {
    let a = Part { dag: "a", names: &["x", "y"], edges: &[(1, "x"), (0, "c.z")] };
    let b = Part { dag: "b", names: &["y"], edges: &[(0, "a.y")] };
    let c = Part { dag: "c", names: &["z"], edges: &[(0, "b.y")] };
    let found = check_across(&[a, b, c], &|_| false).unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].place.as_str()), ("cycle", "a.x"));
    assert!(found[0].message.ends_with(": a.x -> a.y -> b.y -> c.z -> a.x"), "{}", found[0]);

    // Without one of them there is nothing to refuse: its tasks are known elsewhere.
    let graph = check_across(&[a, b], &|name| name.starts_with("c.")).unwrap();
    assert_eq!(graph.order().unwrap(), [0, 1, 2]);
    // Ids count the edges of all parts, those that lead elsewhere too.
    assert_eq!((graph.upstream(2), graph.upstream_edges(2)), (&[1][..], &[2][..]));
}

#[test]
fn a_local_name_goes_before_a_global_one_that_looks_the_same() {
    let a = Part { dag: "a", names: &["b.y", "x"], edges: &[(1, "b.y")] };
    let b = Part { dag: "b", names: &["y"], edges: &[(0, "a.x")] };
    let graph = check_across(&[a, b], &|_| false).unwrap();
    assert_eq!(graph.upstream(1), [0]);
    assert_eq!(graph.upstream(2), [1]);
}

#[test]
fn wrong_names_and_numbers_are_reported_by_global_name() {
    let a =
        Part { dag: "order", names: &["settle"], edges: &[(0, "payment.colect"), (1, "settle")] };
    let b = Part { dag: "payment", names: &["collect"], edges: &[] };
    let found = check_across(&[a, b], &|_| false).unwrap_err();
    assert_eq!(found[0].place, "order.settle");
    assert_eq!(found[0].hint.as_deref(), Some("did you mean `payment.collect`?"));
    assert_eq!(found[1].code, "unknown_task");
}
