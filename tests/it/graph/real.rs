//! Graphs that people really run, see `tests/data/graphs/README.md`.

use std::collections::BTreeSet;
use std::path::Path;

use mainspring::graph::{Graph, check};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    source: String,
    nodes: Vec<String>,
    edges: Vec<(u32, u32)>,
    schedule: Option<String>,
    durations_s: Option<Vec<Option<f64>>>,
}

/// Name, then nodes, edges, roots, leaves, layers, widest layer, most upstreams, most downstreams.
#[rustfmt::skip]
const EXPECTED: &[(&str, [usize; 8])] = &[
    ("airflow_copy_dedup",           [10, 6, 6, 4, 3, 6, 3, 1]),
    ("airflow_glam_daily",           [79, 94, 1, 3, 19, 7, 3, 5]),
    ("alibaba_format_job104",        [8, 7, 1, 4, 4, 4, 1, 4]),
    ("alibaba_format_job82",         [8, 7, 1, 4, 4, 3, 1, 3]),
    ("alibaba_v2018_doc_example",    [5, 5, 1, 1, 4, 2, 2, 2]),
    ("bigquery_etl_warehouse",       [874, 604, 546, 572, 13, 546, 32, 29]),
    ("bwa_1004",                     [1004, 4000, 2, 2, 3, 1000, 1000, 1000]),
    ("cycles_662",                   [662, 970, 160, 12, 4, 320, 16, 2]),
    ("dbt_calitp",                   [807, 1058, 207, 182, 14, 207, 44, 46]),
    ("dbt_jaffle_shop",              [8, 8, 3, 2, 3, 3, 3, 2]),
    ("dbt_mattermost",               [724, 1024, 269, 145, 15, 269, 46, 36]),
    ("dbt_spellbook",                [11549, 12929, 7210, 3065, 11, 7210, 72, 559]),
    ("ds_three_parallel_three",      [9, 6, 3, 3, 3, 3, 1, 1]),
    ("ds_weekly_needs_daily",        [3, 0, 3, 3, 1, 3, 0, 0]),
    ("epigenomics_1695",             [1695, 2108, 6, 1, 9, 420, 75, 75]),
    ("gcp_pipeline_80",              [80, 156, 1, 1, 3, 78, 78, 78]),
    ("gcp_pipeline_83",              [83, 82, 1, 79, 5, 79, 1, 79]),
    ("genome1000_902",               [902, 1166, 572, 308, 3, 572, 25, 14]),
    ("genome_gen_11998",             [11998, 24435, 7391, 4333, 3, 7391, 46, 48]),
    ("montage_2122",                 [2122, 6114, 108, 4, 8, 1890, 630, 36]),
    ("montage_gen_9981",             [9981, 34380, 680, 27, 8, 8490, 645, 40]),
    ("nfcore_atacseq_265",           [265, 593, 22, 15, 17, 32, 123, 24]),
    ("nfcore_fetchngs_43",           [43, 28, 26, 20, 3, 26, 9, 6]),
    ("nfcore_mag_157",               [157, 282, 9, 46, 13, 31, 19, 19]),
    ("nfcore_rnaseq_197",            [197, 451, 15, 44, 10, 86, 92, 58]),
    ("oozie_wikimedia_coordinators", [150, 155, 32, 60, 14, 32, 11, 14]),
    ("seismology_star_1101",         [1101, 1100, 1100, 1, 2, 1100, 1100, 1]),
    ("soykb_676",                    [676, 1674, 25, 3, 11, 500, 500, 20]),
];

fn load() -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/graphs");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let file: File = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(path.file_stem().unwrap().to_str(), Some(file.name.as_str()));
            file
        })
        .collect()
}

#[test]
fn every_graph_counts_up_to_what_its_source_says() {
    let files = load();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, EXPECTED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (file, (name, want)) in files.iter().zip(EXPECTED) {
        assert!(!file.source.is_empty(), "{name}");
        assert!(file.schedule.as_ref().is_none_or(|text| !text.is_empty()), "{name}");
        if let Some(durations) = &file.durations_s {
            assert_eq!(durations.len(), file.nodes.len(), "{name}");
            assert!(durations.iter().flatten().all(|seconds| *seconds >= 0.0), "{name}");
        }
        let graph = Graph::new(file.nodes.len(), &file.edges).unwrap();
        let levels = graph.levels().unwrap();
        let mut widths = vec![0; levels.iter().max().map_or(0, |deepest| *deepest as usize + 1)];
        for level in levels {
            widths[level as usize] += 1;
        }
        let got = [
            graph.len(),
            graph.edge_count(),
            graph.roots().len(),
            graph.leaves().len(),
            widths.len(),
            widths.iter().copied().max().unwrap_or(0),
            graph.nodes().map(|node| graph.in_degree(node)).max().unwrap_or(0),
            graph.nodes().map(|node| graph.out_degree(node)).max().unwrap_or(0),
        ];
        assert_eq!(got, *want, "{name}");
    }
}

#[test]
fn every_graph_passes_the_check_by_name_and_in_order() {
    for file in load() {
        let names: Vec<&str> = file.nodes.iter().map(String::as_str).collect();
        let edges: Vec<(usize, &str)> =
            file.edges.iter().map(|&(up, down)| (down as usize, names[up as usize])).collect();
        let graph = check(&names, &edges, &|_| false, &file.name).unwrap();
        assert_eq!(graph, Graph::new(names.len(), &file.edges).unwrap(), "{}", file.name);
        let order = graph.order().unwrap();
        let mut place = vec![0; names.len()];
        for (at, node) in order.iter().enumerate() {
            place[*node as usize] = at;
        }
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(file.edges.iter().all(|&(up, down)| place[up as usize] < place[down as usize]));
    }
}

#[test]
fn one_edge_turned_round_is_found_with_its_path() {
    for file in load().iter().filter(|file| !file.edges.is_empty()) {
        let graph = Graph::new(file.nodes.len(), &file.edges).unwrap();
        // From the last node of the order that has an upstream back to a root above it.
        let last = graph.order().unwrap().into_iter().rfind(|&node| graph.in_degree(node) > 0);
        let last = last.unwrap();
        let top = graph.reachable_up(&[last]).into_iter().find(|&node| graph.in_degree(node) == 0);
        let mut edges = file.edges.clone();
        edges.push((last, top.unwrap()));
        let cycle = Graph::new(file.nodes.len(), &edges).unwrap().order().unwrap_err().0;
        assert!(cycle.len() > 2 && cycle.first() == cycle.last(), "{}: {cycle:?}", file.name);
        assert!(cycle.windows(2).all(|step| edges.contains(&(step[0], step[1]))), "{}", file.name);
    }
}
