//! The check by name: every problem at once, in words that help.

use mainspring::graph::check;

fn problems(names: &[&str], edges: &[(usize, &str)], place: &str) -> Vec<String> {
    let found = check(names, edges, &|name| name.starts_with("other."), place).unwrap_err();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_right_becomes_a_graph_with_positions_as_ids() {
    let edges = [(1, "a"), (1, "other.x"), (2, "a"), (2, "b")];
    let graph = check(&["a", "b", "c"], &edges, &|name| name == "other.x", "d").unwrap();
    assert_eq!(graph.upstream(2), [0, 1]);
    assert_eq!(graph.upstream_edges(2), [2, 3]);
    assert_eq!(graph.upstream_edges(1), [0]);
}

#[test]
fn every_problem_is_reported_at_once() {
    let names = ["extract", "clean", "load", "clean", "report", "a", "b", "c"];
    let edges = [
        (1, "extract"),
        (2, "claen"),
        (2, "clean"),
        (2, "extract"),
        (2, "clean"),
        (4, "report"),
        (4, "other.x"),
        (4, "other.x"),
        (4, "nobody_like_this"),
        (5, "c"),
        (6, "a"),
        (7, "b"),
        (99, "a"),
    ];
    let want = [
        "flights.clean: 2 tasks are named `clean` [duplicate_task]\n  \
         hint: give each task a name of its own",
        "flights.load: upstream `claen` does not exist [unknown_upstream]\n  \
         hint: did you mean `clean`?",
        "flights.report: upstream `other.x` is given twice (edges 6 and 7) [duplicate_edge]\n  \
         hint: keep one of the two",
        "flights.report: upstream `nobody_like_this` does not exist [unknown_upstream]",
        "flights.99: edge 12 belongs to task number 99, which is not there [unknown_task]",
        "flights.load: upstream `clean` is given twice (edges 2 and 4) [duplicate_edge]\n  \
         hint: keep one of the two",
        "flights.report: the task waits for itself: report -> report [cycle]\n  \
         hint: take the edge to itself out",
        "flights.a: tasks wait for each other: a -> b -> c -> a [cycle]\n  \
         hint: take one of these edges out, or make it WEAK if it need not be waited for",
    ];
    assert_eq!(problems(&names, &edges, "flights"), want);
}

#[test]
fn two_rings_make_two_problems() {
    let found = problems(&["a", "b", "c", "d"], &[(0, "b"), (1, "a"), (2, "d"), (3, "c")], "");
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("a: tasks wait for each other: a -> b -> a [cycle]"));
    assert!(found[1].starts_with("c: tasks wait for each other: c -> d -> c [cycle]"));
}

#[test]
fn a_self_edge_hides_no_larger_cycle() {
    let found = problems(&["a", "b"], &[(0, "a"), (0, "b"), (1, "a"), (0, "a")], "");
    let starts = [
        "a: upstream `a` is given twice (edges 0 and 3)",
        "a: the task waits for itself: a -> a",
        "a: tasks wait for each other: a -> b -> a",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    assert!(found.iter().zip(starts).all(|(found, start)| found.starts_with(start)), "{found:?}");
}

#[test]
fn paths_of_twenty_names_are_shown_whole_and_of_twenty_one_shortened() {
    for (n, whole) in [(20, true), (21, false)] {
        let names: Vec<String> = (0..n).map(|i| format!("n{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let edges: Vec<(usize, &str)> = (0..n).map(|i| ((i + 1) % n, names[i])).collect();
        let found = problems(&names, &edges, "");
        assert_eq!(!found[0].contains("... 1 more ..."), whole, "{found:?}");
        assert_eq!(found[0].matches("n10").count(), usize::from(whole));
        assert!(found[0].contains("-> n11 ->"));
    }
}

#[test]
fn letters_of_any_script_are_names() {
    let found = problems(&["订单_清洗", "结算"], &[(1, "订单_清先")], "订单");
    assert_eq!(
        found,
        ["订单.结算: upstream `订单_清先` does not exist [unknown_upstream]\n  \
          hint: did you mean `订单_清洗`?"]
    );
}
