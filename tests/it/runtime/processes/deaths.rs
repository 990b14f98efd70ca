//! A scheduler, or a supervisor, dies at each named point of the life of worker processes; nothing
//! is lost or doubled, and nobody is left behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mainspring::model::{Outcome, RunState, State};
use mainspring::runtime::{Session, crash};
use mainspring::store::{AttemptFilter, RunFilter, SqliteOptions, SqliteStore, Store};
use serde_json::json;

use super::super::handlers::Folder;
use super::{anew, host, open, register, said, submit, told, until};

const CHILD: &str = "MAINSPRING_TEST_SCHEDULER";

/// One that succeeds, one that fails at first, and a join; and, where it has to come to that, one
/// that has to be killed at first. A second is enough for a worker to have come up by then.
fn tasks(kills: bool) -> serde_json::Value {
    let again = json!({"max_attempts": 9, "retry_interval": "1ms", "retry_backoff": "fixed"});
    let with = |mut own: serde_json::Value| {
        own.as_object_mut().unwrap().extend(again.as_object().unwrap().clone());
        own
    };
    let hang = match kills {
        true => json!({"timeout": "1s", "grace": "250ms"}),
        false => json!({"type": "noop", "handler": null}),
    };
    let mut hangs = json!({"name": "hangs", "handler": "m:hangs"});
    hangs.as_object_mut().unwrap().extend(hang.as_object().unwrap().clone());
    json!([
        with(json!({"name": "plain", "handler": "m:plain"})),
        with(json!({"name": "fails", "handler": "m:fails", "depends_on": ["plain"]})),
        with(hangs),
        with(json!({"name": "join", "handler": "m:join", "depends_on": ["fails", "hangs"]})),
    ])
}

/// Whether a point is one that is passed only where something is killed.
fn kills(point: &str) -> bool {
    ["stop", "kill", "term", "sigkill", "outcome"].iter().any(|word| point.starts_with(word))
}

fn wait(session: &Session, run: mainspring::model::RunId) {
    let watch = session.watch(run).unwrap();
    assert!(watch.wait(Duration::from_secs(60)), "it ends: {:?}", watch.status());
}

/// Not a test of its own: the scheduler that dies.
#[test]
fn the_one_that_dies() {
    let Some(told) = told(CHILD) else { return };
    let [folder, point, nth] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let session = open(Path::new(folder), anew("the_supervisor"), 3, None);
    register(&session, tasks(kills(point)));
    crash::arm(point, nth.parse().unwrap());
    let run = submit(&session);
    wait(&session, run);
    session.close(1_000, Some(Duration::from_secs(20)));
}

/// Lets a scheduler die there: its process id, if it came so far.
fn dies(folder: &Path, point: &str, nth: u32) -> Option<u32> {
    let [program, arguments @ ..] = &anew("deaths::the_one_that_dies")[..] else { panic!() };
    let mut child = Command::new(program)
        .args(arguments)
        .env(CHILD, format!("{}|{point}|{nth}", folder.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id();
    (!child.wait().unwrap().success()).then_some(id)
}

/// Processes that were started for the workers of this scheduler, and live.
fn trees(scheduler: u32) -> Vec<PathBuf> {
    let mark = format!("MAINSPRING_WORKER={scheduler}.");
    let lives = |process: &PathBuf| {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        !matches!(state, None | Some('Z' | 'X'))
    };
    let marked = |process: &PathBuf| {
        let words = std::fs::read(process.join("environ")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word.starts_with(mark.as_bytes()))
    };
    let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    entries.filter(marked).filter(lives).collect()
}

/// The run goes on in this process, or begins where the other one had not come so far.
fn goes_on(folder: &Path, point: &str, what: &str) {
    let session = open(folder, anew("the_supervisor"), 3, None);
    register(&session, tasks(kills(point)));
    let mut store = SqliteStore::open(folder.join("test.db"), SqliteOptions::default()).unwrap();
    let made = store.runs(&RunFilter::default()).unwrap();
    let run = match made.first() {
        None => submit(&session),
        Some(found) if found.row.state == RunState::Running => {
            session.resume(found.row.id, host()).unwrap();
            found.row.id
        }
        Some(found) => found.row.id,
    };
    if let Some(watch) = session.watch(run) {
        assert!(watch.wait(Duration::from_secs(60)), "{what}: {:?}", watch.status());
    }
    session.close(1_000, Some(Duration::from_secs(20)));
    check(folder, what);
}

fn check(folder: &Path, what: &str) {
    let mut store = SqliteStore::open(folder.join("test.db"), SqliteOptions::default()).unwrap();
    assert_eq!(mainspring::runtime::verify(&mut store).unwrap(), [], "{what}");
    let runs = store.runs(&RunFilter::default()).unwrap();
    let [run] = &runs[..] else { panic!("{what}: {} runs", runs.len()) };
    assert_eq!(run.row.state, RunState::Success, "{what}");
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    let attempts = said(folder).into_iter().filter(|line| !line.starts_with("supervisor"));
    attempts.for_each(|line| *lines.entry(line).or_default() += 1);
    assert!(lines.values().all(|count| *count == 1), "{what}: an attempt began twice: {lines:?}");
    for view in store.task_runs(run.row.id).unwrap() {
        assert_eq!(view.row.progress.state, State::Success, "{what}");
        let attempts = store.attempts(&AttemptFilter::TaskRun(view.row.id)).unwrap();
        let name = &view.task;
        for attempt in &attempts {
            let (no, code) = (attempt.start.attempt_no, attempt.record.error_code.as_deref());
            let said = |event: &str| lines.contains_key(&format!("{name} {no} {event}"));
            let explained = match (attempt.outcome, name.as_str(), no) {
                (Some(Outcome::Success), "hangs", _) if !kills(what) => true,
                (Some(Outcome::Success), _, _) => said("start") && said("end"),
                // What nobody saw the end of.
                (Some(Outcome::Lost), _, _) => true,
                (Some(Outcome::Timeout), "hangs", 1) => true,
                (Some(Outcome::Failed), "fails", 1) => code == Some("FIRST"),
                _ => false,
            };
            assert!(explained, "{what}: {name} {no} ended {:?} {code:?}", attempt.outcome);
        }
        let won = attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Success));
        assert_eq!(won.count(), 1, "{what}: {name}");
        if name == "hangs" && kills(what) {
            let hung = attempts.iter().any(|a| a.outcome == Some(Outcome::Timeout))
                || attempts.iter().any(|a| a.outcome == Some(Outcome::Lost));
            assert!(hung, "{what}: it had to be killed");
        }
        let begun = lines
            .keys()
            .filter(|line| line.starts_with(&format!("{name} ")) && line.ends_with("start"));
        assert!(begun.count() <= attempts.len(), "{what}: {name} ran without a record");
    }
}

const OF_THE_SCHEDULER: [&str; 12] = [
    "commit.before",
    "commit.after",
    "start.before",
    "start.after",
    "stop.before",
    "stop.after",
    "spawn.before",
    "spawn.after",
    "give.before",
    "give.after",
    "kill.before",
    "kill.after",
];

fn scheduler_dies(points: &[&str]) {
    for point in points {
        // One worker may do it all, and one tree has to be killed by request.
        let often = ["commit", "start", "give", "outcome"];
        let least = if often.iter().any(|word| point.starts_with(word)) { 2 } else { 1 };
        let mut deaths = 0;
        for nth in 1..=3 {
            let folder = Folder::with_file("process-crash");
            let home = folder.database().parent().unwrap().to_owned();
            let Some(scheduler) = dies(&home, point, nth) else { break };
            deaths += 1;
            let what = format!("{point} {nth}");
            goes_on(&home, point, &what);
            until(&format!("{what}: nobody is left"), || trees(scheduler).is_empty());
        }
        assert!(deaths >= least, "only {deaths} deaths at {point}");
    }
}

#[test]
fn nothing_is_lost_when_a_scheduler_dies_before_or_after_a_commit_a_start_or_a_stop() {
    scheduler_dies(&OF_THE_SCHEDULER[..6]);
}

#[test]
fn nothing_is_lost_when_a_scheduler_dies_before_or_after_a_spawn_an_order_or_a_kill() {
    scheduler_dies(&OF_THE_SCHEDULER[6..]);
}

#[test]
fn nothing_is_lost_when_a_scheduler_dies_before_or_after_it_hears_of_an_end() {
    scheduler_dies(&["outcome.before", "outcome.after"]);
}

/// The scheduler lives on: it tells the death, and another worker takes the next attempt.
#[test]
fn a_supervisor_that_dies_anywhere_costs_an_attempt_and_leaves_nobody() {
    for point in [
        "worker.before",
        "worker.after",
        "term.before",
        "term.after",
        "sigkill.before",
        "sigkill.after",
        "dead.before",
        "dead.after",
    ] {
        let folder = Folder::with_file("supervisor-crash");
        let home = folder.database().parent().unwrap().to_owned();
        let session = open(&home, anew("the_supervisor"), 1, Some(&format!("{point}|1")));
        register(&session, tasks(kills(point)));
        let run = submit(&session);
        wait(&session, run);
        // The one worker was killed with its first supervisor, which did not come to its end; the
        // second one does as the session is closed.
        assert!(home.join("armed").exists(), "{point}");
        assert!(!said(&home).contains(&"supervisor end".to_owned()), "{point}: it died");
        session.close(1_000, Some(Duration::from_secs(20)));
        check(&home, point);
        until(&format!("{point}: nobody is left"), || trees_of(&home).is_empty());
    }
}

/// Processes with this folder in their environment, that live.
fn trees_of(folder: &Path) -> Vec<PathBuf> {
    let mark = format!("{}={}", super::FOLDER, folder.display());
    let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|process| {
            let words = std::fs::read(process.join("environ")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
        })
        .collect()
}
