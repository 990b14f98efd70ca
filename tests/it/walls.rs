//! The walls between the floors, held by a table and not by good intentions.
//!
//! The tests read the sources and ask the resolver. What they refuse names the file, the line and
//! the row of the table that is broken; whoever has a reason to move a wall changes the row, and
//! its reason, here.

mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mainspring::model::{Outcome, RunState, State};

use self::source::Source;

/// One floor of `src/`.
struct Floor {
    name: &'static str,
    /// Floors it may use, or single items of them.
    uses: &'static [&'static str],
    /// Crates it may use; the standard library is not listed.
    crates: &'static [&'static str],
    /// Why the row is as it is.
    reason: &'static str,
}

/// In reading order, which is also the order of `src/lib.rs`.
const FLOORS: &[Floor] = &[
    Floor {
        name: "model",
        uses: &[],
        crates: &["regex", "serde", "serde_json", "strsim", "thiserror", "unicode_normalization"],
        reason: "the ground: plain data that every other floor may speak of; strsim finds the \
                 name that was meant",
    },
    Floor {
        name: "calendar",
        uses: &["model"],
        crates: &["jiff", "serde", "strsim"],
        reason: "when; jiff brings the zones, and its types stay in here",
    },
    Floor {
        name: "graph",
        uses: &["model"],
        crates: &["petgraph", "strsim"],
        reason: "who waits for whom; petgraph's types stay in here",
    },
    Floor {
        name: "policy",
        uses: &["model"],
        crates: &[],
        reason: "how; functions of numbers, which need nobody's help",
    },
    Floor {
        name: "engine",
        uses: &["model", "calendar", "graph", "policy"],
        crates: &["regex", "serde_json", "thiserror"],
        reason: "what next; pure, so that a simulator can drive it; regex looks for the pattern of \
                 an OUTPUT_MATCH edge",
    },
    Floor {
        name: "store",
        uses: &["model", "engine::RunMove", "graph"],
        crates: &[
            "futures_util",
            "rusqlite",
            "rustls_native_certs",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio_postgres",
            "tokio_rustls",
        ],
        reason: "a store writes what a decision says, so it may read the decision's types; and \
                 two processes that register half a cycle each can only be refused inside the \
                 transaction, so it may call the graph; each client of a database stays in the \
                 folder of its dialect",
    },
    Floor {
        name: "runtime",
        uses: &["model", "calendar", "graph", "policy", "engine", "store"],
        crates: &["crossbeam_channel", "rustix", "serde", "serde_json", "thiserror"],
        reason: "the only floor that waits, spawns and reads clocks; rustix speaks to the kernel \
                 about processes without unsafe code, and serde writes what their pipes carry",
    },
    Floor {
        name: "python",
        uses: &["model", "calendar", "graph", "policy", "engine", "store", "runtime"],
        crates: &["arrow_array", "arrow_schema", "pyo3", "pythonize", "serde", "serde_json"],
        reason: "the thinnest floor; it converts and calls, and has no rule of its own; arrow hands \
                 columns of the history to other libraries, with the unsafe code that this takes",
    },
];

impl Floor {
    fn row(&self) -> String {
        let list = |words: &[&str]| match words {
            [] => "nothing".to_owned(),
            words => words.join(", "),
        };
        let (uses, crates) = (list(self.uses), list(self.crates));
        format!("{} | may use {uses} | crates {crates} | {}", self.name, self.reason)
    }

    fn may_use(&self, floor: &str, item: Option<&str>) -> bool {
        self.name == floor
            || self.uses.contains(&floor)
            || item.is_some_and(|item| self.uses.contains(&format!("{floor}::{item}").as_str()))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder of the repository with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The path as it is written in a message: from the root of the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

fn refuse(broken: &[String], what: &str) {
    assert!(broken.is_empty(), "{what}:\n  {}\n", broken.join("\n  "));
}

/// Names of the crates in a section of Cargo.toml, as code writes them.
fn dependencies() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]\n").nth(1).unwrap();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().replace('-', "_"))
        .collect()
}

#[test]
fn a_floor_uses_only_what_its_row_allows() {
    let crates = dependencies();
    let mut broken = Vec::new();
    for floor in FLOORS {
        for path in files(&root().join("src").join(floor.name), "rs") {
            let source = Source::read(&path);
            for found in source.floors(&root().join("src")) {
                let (line, used, item) = (found.line, &found.floor, found.item.as_deref());
                let known = FLOORS.iter().any(|row| row.name == *used);
                if known && !floor.may_use(used, item) {
                    let item = item.map(|item| format!("::{item}")).unwrap_or_default();
                    let file = shown(&path);
                    broken.push(format!(
                        "{file}:{line} uses crate::{used}{item}\n    {}",
                        floor.row()
                    ));
                }
            }
            for (line, name) in source.crates(&crates) {
                if !floor.crates.contains(&name.as_str()) {
                    let file = shown(&path);
                    broken.push(format!("{file}:{line} uses crate {name}\n    {}", floor.row()));
                }
            }
        }
    }
    refuse(&broken, "walls are broken");
}

/// Crates that one folder of a floor uses, and nobody beside it.
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("src/store/sqlite/", &["rusqlite"], "a database is named by its store only"),
    (
        "src/store/postgres/",
        &["futures_util", "rustls_native_certs", "tokio", "tokio_postgres", "tokio_rustls"],
        "the client of PostgreSQL waits by tokio, on the thread that asks; nothing else waits so",
    ),
];

#[test]
fn clients_of_databases_stay_in_the_folders_of_their_dialects() {
    let known = dependencies();
    let mut broken = Vec::new();
    for (folder, crates, reason) in ONLY_IN {
        for path in files(&root().join("src"), "rs") {
            let file = shown(&path);
            for (line, name) in Source::read(&path).crates(&known) {
                if crates.contains(&name.as_str()) && !file.starts_with(folder) {
                    broken.push(format!("{file}:{line} uses {name}: {reason}"));
                }
            }
        }
    }
    refuse(&broken, "these crates are for one folder each");
}

/// A row that allows what nobody uses invites somebody to use it.
#[test]
fn a_row_allows_no_crate_that_its_floor_does_not_use() {
    let crates = dependencies();
    let mut broken = Vec::new();
    for floor in FLOORS {
        let mut used = BTreeSet::new();
        for path in files(&root().join("src").join(floor.name), "rs") {
            used.extend(Source::read(&path).crates(&crates).into_iter().map(|(_, name)| name));
        }
        let idle = floor.crates.iter().filter(|name| !used.contains(**name));
        broken.extend(idle.map(|name| format!("{name}\n    {}", floor.row())));
    }
    refuse(&broken, "crates that are allowed and not used");
}

#[test]
fn the_table_has_every_floor_in_the_order_of_lib_rs() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod ")))
        .map(|rest| rest.trim_end_matches(';'))
        .collect();
    let table: Vec<&str> = FLOORS.iter().map(|floor| floor.name).collect();
    assert_eq!(declared, table);
    for (at, floor) in FLOORS.iter().enumerate() {
        for used in floor.uses {
            let used = used.split("::").next().unwrap();
            let above = FLOORS.iter().take(at).any(|row| row.name == used);
            assert!(above, "{} may not use {used}, which is not above it", floor.name);
        }
    }
}

/// Where a state's word stands in Rust besides its table, and why.
const WORDS_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("src/model/definition.rs", "SUCCESS", "the kind of an edge, which is not a state"),
    ("src/model/spec/edges.rs", "SUCCESS", "the kind of an edge, which is not a state"),
    ("src/policy/retry.rs", "TIMEOUT", "the word that retry_on names, which is not a state"),
    ("src/python/faces.rs", "INTERRUPTED", "shown of a RUNNING run whose process is gone"),
    ("src/python/history.rs", "INTERRUPTED", "the question for those runs"),
    ("src/python/history.rs", "RUNNING", "the state that those runs have in the table"),
];

#[test]
fn words_of_states_are_written_in_their_table_only() {
    let words: BTreeSet<&str> = (State::ALL.iter().map(|word| word.as_str()))
        .chain(RunState::ALL.iter().map(|word| word.as_str()))
        .chain(Outcome::ALL.iter().map(|word| word.as_str()))
        .collect();
    let mut broken = Vec::new();
    let mut met = BTreeSet::new();
    for path in files(&root().join("src"), "rs") {
        let file = shown(&path);
        if file == "src/model/state.rs" {
            continue;
        }
        for (line, text) in Source::read(&path).product_texts() {
            let Some(word) = words.get(text.as_str()) else { continue };
            let allowed = WORDS_ELSEWHERE.iter().find(|row| row.0 == file && row.1 == *word);
            match allowed {
                Some(row) => {
                    met.insert((row.0, row.1));
                }
                None => broken.push(format!("{file}:{line} writes {word:?}")),
            }
        }
    }
    for path in files(&root().join("src/store"), "sql") {
        let text = fs::read_to_string(&path).unwrap();
        for word in &words {
            if text.contains(&format!("'{word}'")) {
                broken.push(format!("{} writes '{word}'", shown(&path)));
            }
        }
    }
    refuse(&broken, "use the enum of src/model/state.rs (in SQL, bind it or have it stamped)");
    for (file, word, _) in WORDS_ELSEWHERE {
        assert!(met.contains(&(*file, *word)), "{file} no longer writes {word}: drop its row");
    }
}

/// Files that may set a ban of clippy.toml aside, and why.
const BANS_SET_ASIDE: &[(&str, &str)] =
    &[("src/runtime/clock.rs", "the one place where clocks are read")];

#[test]
fn bans_are_set_aside_where_the_table_says() {
    let mut broken = Vec::new();
    for path in files(&root().join("src"), "rs") {
        let file = shown(&path);
        let text = fs::read_to_string(&path).unwrap();
        let allowed = BANS_SET_ASIDE.iter().any(|row| row.0 == file);
        if text.contains("clippy::disallowed") && !allowed {
            broken.push(file);
        }
    }
    refuse(&broken, "these files set a ban of clippy.toml aside");
}

/// Every file says what it is for, and stays one thing that can be read.
#[test]
fn files_say_what_they_are_for_and_stay_short() {
    const LONGEST: usize = 600;
    let mut broken = Vec::new();
    for path in files(&root().join("src"), "rs") {
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with("//! ") {
            broken.push(format!("{} does not begin with //! and what it is for", shown(&path)));
        }
        let lines = text.lines().count();
        if lines > LONGEST {
            broken.push(format!("{} has {lines} lines, more than {LONGEST}", shown(&path)));
        }
    }
    refuse(&broken, "files");
}

/// What the resolver says a build has: names of crates.
fn tree(features: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "-e", "normal", "--prefix", "none", "--format", "{p}"]);
    command.args(["--no-default-features"]).args(features).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn without(found: &BTreeSet<String>, banned: &[&str]) {
    for name in banned {
        assert!(!found.contains(*name), "{name} is in the tree");
    }
    assert!(found.contains("serde_json"), "the tree was read: {found:?}");
}

#[test]
fn the_kernel_has_no_database_threads_or_python_in_its_tree() {
    let banned = ["rusqlite", "libsqlite3-sys", "crossbeam-channel", "pyo3", "pythonize", "tokio"];
    without(&tree(&[]), &banned);
    without(&tree(&["--features", "sqlite"]), &NETWORK);
    without(&tree(&[]), &ARROW);
}

/// What only the feature `postgres` brings.
const NETWORK: [&str; 4] = ["tokio", "tokio-postgres", "rustls", "ring"];

#[test]
fn the_runtime_knows_no_python_and_no_feature_brings_a_second_clock_library() {
    let runtime = tree(&["--features", "runtime"]);
    without(&runtime, &["pyo3", "pythonize", "chrono", "chrono-tz", "time"]);
    without(&runtime, &ARROW);
    without(&runtime, &NETWORK);
    without(&tree(&["--features", "python"]), &NETWORK);
    let other = ["rusqlite", "pyo3", "crossbeam-channel", "openssl", "chrono", "time"];
    without(&tree(&["--features", "postgres"]), &other);
    without(&tree(&["--all-features"]), &["chrono-tz", "time", "openssl"]);
}

/// What hands columns to other libraries; below Python nobody needs it.
const ARROW: [&str; 4] = ["arrow-array", "arrow-buffer", "arrow-data", "arrow-schema"];

/// arrow-array cannot be had without chrono, which turns its timestamps into text. Nothing of ours
/// calls that: we hand over numbers.
#[test]
fn chrono_is_in_the_tree_for_arrow_alone() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "-e", "normal", "--prefix", "depth", "--format", " {p}"]);
    command.args(["--all-features", "--invert", "chrono"]).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let users: BTreeSet<&str> =
        (text.lines()).filter_map(|line| line.strip_prefix("1 ")?.split(' ').next()).collect();
    assert!(!users.is_empty() && users.iter().all(|user| ARROW.contains(user)), "{users:?}");
}

/// Licences that code we link may have: each asks for no more than a notice. (The exception of
/// LLVM's asks for less.)
const LICENCES: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "LLVM-exception",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

#[test]
fn what_is_linked_is_named_in_the_notice_and_asks_for_no_more() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "-e", "normal,no-proc-macro", "--prefix", "none"]);
    // The same list on every machine.
    command.args(["--target", "x86_64-unknown-linux-gnu"]);
    command.args(["--all-features", "--format", "{p}|{l}"]).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut linked = BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (package, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap();
        let name = package.split(' ').next().unwrap();
        if name != "mainspring" {
            linked.insert(format!("{name}: {licence}"));
        }
        let words = licence.split(['(', ')', '/', ' ']).filter(|word| !word.is_empty());
        for word in words.filter(|word| !["OR", "AND", "WITH"].contains(word)) {
            assert!(LICENCES.contains(&word), "{package} is under {licence}: read it first");
        }
    }
    let notice = fs::read_to_string(root().join("NOTICE")).unwrap();
    let named: BTreeSet<String> =
        notice.lines().filter(|line| line.contains(": ")).map(str::to_owned).collect();
    let wanted: Vec<&str> = linked.iter().map(String::as_str).collect();
    assert!(named == linked, "the list at the end of NOTICE is to be:\n\n{}\n", wanted.join("\n"));
}
