//! Tables in `docs/` that repeat what the code says: they are compared, so they cannot rot.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mainspring::engine::{EdgeRule, Pattern, Standing, edge_verdict, skip_codes};
use mainspring::model::{ARROWS, EdgeKind, Outcome, ParamType, RunState, State};

/// The block of a document between `<!-- name -->` and `<!-- end -->`.
fn block(file: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("docs/{file}: {error}"));
    let begin = format!("<!-- {name} -->\n");
    let after = text.split_once(&begin).unwrap_or_else(|| panic!("docs/{file} has no {begin}")).1;
    after.split_once("<!-- end -->").unwrap_or_else(|| panic!("{name} does not end")).0.to_owned()
}

#[track_caller]
fn compare(file: &str, name: &str, code: &str) {
    let found = block(file, name);
    assert!(
        found.trim() == code.trim(),
        "docs/{file}: the block {name} is not what the code says; put this into it:\n\n{code}"
    );
}

#[test]
fn the_states_are_those_of_the_code() {
    let mut table = String::from("| state | code | kind |\n| --- | --- | --- |\n");
    for state in State::ALL {
        let kind = match state {
            state if state.is_final() => "final",
            state if state.can_move() => "open, moves by itself",
            _ => "open, waits for a repair elsewhere",
        };
        writeln!(table, "| {state} | {} | {kind} |", state.code()).unwrap();
    }
    compare("model.md", "states", &table);
}

#[test]
fn the_arrows_are_those_of_the_code() {
    let mut table = String::from("| from | to | when |\n| --- | --- | --- |\n");
    for (from, to, when) in ARROWS {
        writeln!(table, "| {from} | {to} | {when} |").unwrap();
    }
    compare("model.md", "arrows", &table);
}

#[test]
fn the_words_for_runs_and_attempts_are_those_of_the_code() {
    let list = |words: Vec<&str>| words.join(", ");
    let runs = list(RunState::ALL.iter().map(|word| word.as_str()).collect());
    let attempts = list(Outcome::ALL.iter().map(|word| word.as_str()).collect());
    let table = format!("- a run is one of: {runs}\n- an attempt ends as one of: {attempts}\n");
    compare("model.md", "words", &table);
}

#[test]
fn the_types_of_parameters_are_those_of_the_code() {
    let words: Vec<&str> = ParamType::ALL.iter().map(|word| word.as_str()).collect();
    compare("parameters.md", "types", &words.join(", "));
}

#[test]
fn the_verdicts_of_edges_are_those_of_the_code() {
    let mut table = String::from("| upstream |");
    EdgeKind::ALL.iter().for_each(|kind| write!(table, " {kind} |").unwrap());
    table.push_str("\n| --- |");
    EdgeKind::ALL.iter().for_each(|_| table.push_str(" --- |"));
    let skips = [
        ("SKIPPED by the calendar", Some("RUN_ON")),
        ("SKIPPED by a condition", Some(skip_codes::NO_MATCH)),
        ("SKIPPED, disabled", Some(skip_codes::DISABLED)),
        ("SKIPPED, left out", Some(skip_codes::NOT_SELECTED)),
        ("SKIPPED, unchanged", Some(skip_codes::UNCHANGED)),
    ];
    let states = State::ALL.iter().filter(|state| **state != State::Skipped);
    let rows = states
        .map(|state| (state.as_str(), *state, None))
        .chain(skips.into_iter().map(|(name, code)| (name, State::Skipped, code)));
    let yes = regex::Regex::new("yes").ok().map(Pattern);
    for (name, state, code) in rows {
        write!(table, "\n| {name} |").unwrap();
        for kind in EdgeKind::ALL {
            let mut rule = EdgeRule::of_kind(*kind);
            rule.pattern.clone_from(&yes);
            let up = Standing { code, result: Some("yes"), ..Standing::of_state(state) };
            write!(table, " {:?} |", edge_verdict(&rule, up)).unwrap();
        }
    }
    compare("dependencies.md", "edges", &table);
}
