//! The pool with real processes: supervisors and workers are this test binary, started anew with
//! only `the_supervisor` or `the_worker`.

mod deaths;
mod unkillable;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mainspring::engine::check_definition;
use mainspring::model::RunId;
use mainspring::runtime::process::{ProcessOptions, WorkerLine, report_end, supervise};
use mainspring::runtime::{
    Clock, Finished, HandlerHost, LogOptions, NewRunRequest, ProcessHost, Session, SessionOptions,
    crash,
};
use mainspring::store::{SqliteOptions, SqliteStore};

use super::handlers::{Closures, returned};

/// The folder with the witness; whoever has no such variable is no process of ours.
const FOLDER: &str = "MAINSPRING_TEST_FOLDER";
/// `point|nth`: where the first supervisor of the folder dies.
const POINT: &str = "MAINSPRING_TEST_POINT";

#[allow(clippy::disallowed_methods, reason = "how a process that is started anew is told so")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// This binary, doing one of the things below.
fn anew(test: &str) -> Vec<OsString> {
    let binary = std::env::current_exe().unwrap().into_os_string();
    let test = format!("runtime::processes::{test}");
    vec![binary, "--exact".into(), test.into(), "--nocapture".into(), "--quiet".into()]
}

/// Not a test of its own: the life of a supervisor.
#[test]
fn the_supervisor() {
    let Some(folder) = told(FOLDER) else { return };
    if let Some(told) = told(POINT) {
        let (point, nth) = told.split_once('|').unwrap();
        // The first of its folder, and no other.
        if std::fs::create_dir(Path::new(&folder).join("armed")).is_ok() {
            crash::arm(point, nth.parse().unwrap());
        }
    }
    if let Some(ended) = supervise(&anew("the_worker")).unwrap() {
        // The scheduler may be gone, and nobody is left to be told.
        let _ = report_end(ended, 1, 2);
    }
    say(Path::new(&folder), "supervisor end");
}

/// Not a test of its own: the life of a worker, whose handlers are in `handler`.
#[test]
fn the_worker() {
    let Some(folder) = told(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let line = WorkerLine::open().unwrap();
    line.ready().unwrap();
    while let Some(order) = line.next().unwrap() {
        let (name, no) = (order.job.def.name.clone(), order.job.attempt.attempt_no);
        let finished = handler(&folder, &name, no);
        say(&folder, &format!("{name} {no} end"));
        line.done(finished, 0, true, None).unwrap();
    }
}

/// What the tasks do: `fails` fails at first, `hangs` hangs at first, with a child that heeds no
/// SIGTERM; everything else returns.
fn handler(folder: &Path, task: &str, attempt_no: u32) -> Finished {
    say(folder, &format!("{task} {attempt_no} start"));
    match (task, attempt_no) {
        ("fails", 1) => Finished::failed("FIRST", "First", "the first"),
        ("hangs", 1) => {
            let deaf = "trap '' TERM; while :; do sleep 1; done";
            let mut child = Command::new("sh").args(["-c", deaf]).spawn().unwrap();
            let _ = child.wait();
            returned(None)
        }
        _ => returned(None),
    }
}

/// A line outside of the product.
fn say(folder: &Path, line: &str) {
    let path = folder.join("witness");
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// What was said so far.
fn said(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("witness")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A scheduler of this process, by the machine's clock.
fn open(folder: &Path, supervisor: Vec<OsString>, workers: u32, point: Option<&str>) -> Session {
    let database = folder.join("test.db");
    let options = SessionOptions {
        database: database.clone(),
        files: None,
        role: "test".into(),
        host: "here".into(),
        slots: 3,
        busy_wait: Duration::from_secs(60),
        clock: Clock::machine(),
        leads: None,
        durable: true,
        logs: LogOptions::default(),
    };
    let driving = Box::new(SqliteStore::open(&database, SqliteOptions::default()).unwrap());
    let session = Session::open_with(options, Arc::new(Closures), driving).unwrap();
    let mut processes = ProcessOptions::new(supervisor, Vec::new(), workers);
    processes.env.push((FOLDER.into(), folder.into()));
    processes.env.extend(point.map(|point| (POINT.into(), point.into())));
    session.use_processes(processes);
    session
}

/// Registers `d` with these tasks.
fn register(session: &Session, tasks: serde_json::Value) {
    let spec = serde_json::json!({"name": "d", "tasks": tasks});
    session.register(&[check_definition(&spec).unwrap()]).unwrap();
}

/// The handlers of `d`, in a file that nobody reads.
fn host() -> HandlerHost {
    let (file, version) = (PathBuf::from("jobs.py"), "1".to_owned());
    Arc::new(ProcessHost { file, dag: "d".into(), version })
}

fn submit(session: &Session) -> RunId {
    session.submit("d", host(), NewRunRequest::default()).unwrap()
}

/// Asks until it is so; fails the test when it never is.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("never: {what}");
}
