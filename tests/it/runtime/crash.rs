//! A scheduler dies at each named point, each time it comes by, and the next one goes on.
//!
//! The one that dies is this test binary, started anew with only `the_one_that_dies`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use mainspring::engine::check_definition;
use mainspring::model::{Instant, Outcome, RunState, State};
use mainspring::runtime::{Clock, HandlerHost, LogOptions, Session, SessionOptions, crash};
use mainspring::store::{AttemptFilter, OpenOptions, RunFilter};
use serde_json::json;

use super::handlers::{Closures, Folder, Host, START, returned, work};

/// Six fires, a minute apart.
const FIRES: i64 = 6;
/// What the child reads.
const CHILD: &str = "MAINSPRING_TEST_CRASH";

struct Scheduler {
    session: Session,
    hand: Arc<AtomicI64>,
}

impl Scheduler {
    /// Opens as the one scheduler of the database, at an instant.
    fn open(database: &Path, home: &Path, now: Instant) -> Scheduler {
        let (clock, hand) = Clock::test(now);
        let options = SessionOptions {
            database: database.to_owned(),
            files: Some(home.join("test.files")),
            role: "test".into(),
            host: "here".into(),
            slots: 2,
            busy_wait: Duration::from_secs(60),
            clock,
            leads: Some("main".into()),
            durable: true,
            logs: LogOptions::default(),
        };
        let driving = mainspring::store::open(database, OpenOptions::default()).unwrap();
        let session = Session::open_with(options, Arc::new(Closures), driving).unwrap();
        let hiring = session.hiring();
        std::thread::Builder::new().spawn(move || work(&hiring)).unwrap();
        Scheduler { session, hand }
    }

    /// Serves two tasks in a row, the first of which fails in its first attempt of each run.
    fn serve(&self, witness: PathBuf) {
        let spec = json!({
            "name": "d", "schedule": "* * * * *", "max_active_runs": 2,
            "tasks": [
                {"name": "a", "handler": "m:a", "max_attempts": 9, "retry_interval": "1s"},
                {"name": "b", "handler": "m:b", "depends_on": ["a"]},
            ],
        });
        self.session.register(&[check_definition(&spec).unwrap()]).unwrap();
        let second = witness.clone();
        let host = Host::default()
            .on("a", move |job, _| {
                if job.attempt.attempt_no == 1 {
                    return mainspring::runtime::Finished::failed("FIRST", "First", "the first");
                }
                seen(&witness, "a", job.run.nominal_at);
                returned(None)
            })
            .on("b", move |job, _| {
                seen(&second, "b", job.run.nominal_at);
                returned(None)
            });
        let host = Arc::new(host) as HandlerHost;
        self.session.serve(vec![("d".into(), host)]).unwrap();
    }

    fn advance(&self, to: Instant) {
        self.session.advance(&self.hand, to, &mut || true).unwrap();
    }
}

/// A line outside of the product that a handler was called to its end.
fn seen(witness: &Path, task: &str, nominal_at: Instant) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(witness).unwrap();
    file.write_all(format!("{task} {nominal_at}\n").as_bytes()).unwrap();
}

fn end() -> Instant {
    START.plus_millis(FIRES * 60_000 + 30_000)
}

/// Not a test of its own: the process that dies, when it is told to.
#[test]
fn the_one_that_dies() {
    #[allow(clippy::disallowed_methods, reason = "how a process that is to die is told so")]
    let Ok(told) = std::env::var(CHILD) else { return };
    let told: Vec<&str> = told.split('|').collect();
    let [folder, database, point, nth] = told[..] else { panic!("{told:?}") };
    let folder = PathBuf::from(folder);
    let scheduler = Scheduler::open(Path::new(database), &folder, START);
    crash::arm(point, nth.parse().unwrap());
    scheduler.serve(folder.join("witness"));
    scheduler.advance(end());
    scheduler.session.close(0, None);
}

/// Lets a process die there; whether it came so far.
fn dies(folder: &Folder, point: &str, nth: u32) -> bool {
    let (home, database) = (folder.home().display(), folder.database());
    let told = format!("{home}|{}|{point}|{nth}", database.display());
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runtime::crash::the_one_that_dies", "--nocapture"])
        .env(CHILD, told)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    !status.success()
}

#[test]
fn whoever_comes_after_a_death_at_any_point_loses_and_doubles_nothing() {
    let mut deaths = 0;
    for point in ["commit.before", "commit.after", "start.before", "start.after"] {
        // Each time it comes by at first, and then every seventh.
        for nth in [1, 2, 3, 4, 5, 6, 7, 8, 15, 22, 29] {
            let folder = Folder::new("crash");
            let home = folder.home();
            if !dies(&folder, point, nth) {
                break;
            }
            deaths += 1;
            let scheduler = Scheduler::open(&folder.database(), home, last_seen(&folder));
            scheduler.serve(home.join("witness"));
            scheduler.advance(end());
            scheduler.session.close(0, None);
            check(&folder, &home.join("witness"), &format!("{point} {nth}"));
        }
    }
    assert!(deaths >= 30, "only {deaths} deaths");
}

/// When the one who died wrote last: time does not run backwards.
fn last_seen(folder: &Folder) -> Instant {
    let mut store = folder.store();
    let mut last = START;
    for run in store.runs(&RunFilter::default()).unwrap() {
        last = last.max(run.row.created_at);
        for attempt in store.attempts(&AttemptFilter::Run(run.row.id)).unwrap() {
            last = last.max(attempt.start.started_at).max(attempt.finished_at.unwrap_or(START));
        }
    }
    last
}

fn check(folder: &Folder, witness: &Path, what: &str) {
    let mut store = folder.store();
    assert_eq!(store.verify().unwrap(), [], "{what}");
    let runs = store.runs(&RunFilter::default()).unwrap();
    let mut fires: Vec<Instant> = runs.iter().map(|run| run.row.nominal_at).collect();
    fires.sort_unstable();
    let expected: Vec<Instant> = (1..=FIRES).map(|n| START.plus_millis(n * 60_000)).collect();
    assert_eq!(fires, expected, "{what}: each fire is one run");
    assert!(runs.iter().all(|run| run.row.state == RunState::Success), "{what}");

    let written = std::fs::read_to_string(witness).unwrap();
    let mut called: BTreeMap<&str, u32> = BTreeMap::new();
    written.lines().for_each(|line| *called.entry(line).or_default() += 1);
    for run in &runs {
        for view in store.task_runs(run.row.id).unwrap() {
            assert_eq!(view.row.progress.state, State::Success, "{what}");
            let filter = AttemptFilter::TaskRun(view.row.id);
            let attempts = store.attempts(&filter).unwrap();
            let outcomes: Vec<Option<Outcome>> = attempts.iter().map(|a| a.outcome).collect();
            let count = |outcome| outcomes.iter().filter(|found| **found == Some(outcome)).count();
            assert_eq!(count(Outcome::Success), 1, "{what}: one success, {outcomes:?}");
            assert!(!outcomes.contains(&None), "{what}: every attempt has ended, {outcomes:?}");
            // Called to the end once, and once more for an attempt that was lost at most.
            let line = format!("{} {}", view.task, run.row.nominal_at);
            let times = called.get(line.as_str()).copied().unwrap_or(0) as usize;
            assert!(
                (1..=1 + count(Outcome::Lost)).contains(&times),
                "{what}: {line} {times} times"
            );
        }
    }
}
