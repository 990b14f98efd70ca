//! A host of handlers that are closures, a clock that stands, and a session over a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use mainspring::engine::check_definition;
use mainspring::model::{AttemptRecord, Instant, Outcome, RunId, State, StopReason};
use mainspring::runtime::{
    Clock, Finished, HandlerHost, Hiring, Input, Interpreter, Job, LogOptions, NewRunRequest, Next,
    Session, SessionError, SessionOptions, StopHandle,
};
use mainspring::store::{OpenOptions, SqlStore, SqliteOptions, SqliteStore, Store, TaskRunView};
use serde_json::json;

/// 2024-01-15T00:00:00Z.
pub const START: Instant = Instant(1_705_276_800_000_000);

/// A stop is a message.
pub struct Closures;

impl Interpreter for Closures {
    fn stop(&self, handle: &StopHandle, reason: StopReason) {
        if let Some(stop) = handle.downcast_ref::<Sender<StopReason>>() {
            let _ = stop.send(reason);
        }
    }
}

/// The life of a thread that calls closures.
pub fn work(hiring: &Hiring) {
    let worker = hiring.hire();
    loop {
        match worker.next() {
            Next::Job(job, alone) => {
                if alone {
                    let hiring = hiring.clone();
                    std::thread::Builder::new().spawn(move || work(&hiring)).unwrap();
                }
                let (sender, receiver) = unbounded::<StopReason>();
                worker.stoppable(&job, Arc::new(sender));
                let host = job.host.downcast_ref::<Host>().unwrap();
                worker.report(&job, host.call(&job, &receiver));
            }
            Next::Nothing => worker.wait(),
            Next::Closed => return,
        }
    }
}

/// A handler: its job, and where it hears that it should stop.
pub type Handler = Box<dyn Fn(&Job, &Receiver<StopReason>) -> Finished + Send + Sync>;

/// Handlers by task name, and what was called.
#[derive(Default)]
pub struct Host {
    handlers: BTreeMap<String, Handler>,
    pub called: Mutex<Vec<(String, u32)>>,
}

impl Host {
    pub fn on(
        mut self,
        task: &str,
        handler: impl Fn(&Job, &Receiver<StopReason>) -> Finished + Send + Sync + 'static,
    ) -> Self {
        self.handlers.insert(task.to_owned(), Box::new(handler));
        self
    }

    fn call(&self, job: &Job, stop: &Receiver<StopReason>) -> Finished {
        self.called.lock().unwrap().push((job.def.name.clone(), job.attempt.attempt_no));
        match self.handlers.get(&job.def.name) {
            Some(handler) => handler(job, stop),
            None => returned(None),
        }
    }

    /// Task names and attempt numbers in the order of their calls.
    pub fn calls(&self) -> Vec<(String, u32)> {
        self.called.lock().unwrap().clone()
    }
}

/// A success.
pub fn returned(result: Option<&str>) -> Finished {
    Finished {
        not_ready: false,
        outcome: Outcome::Success,
        result: result.map(Into::into),
        record: AttemptRecord::default(),
    }
}

/// The JSON text of the first argument that is a result.
pub fn first_input(job: &Job) -> String {
    match job.inputs.first() {
        Some((_, Input::Text(text))) => text.to_string(),
        Some((_, Input::File(path))) => std::fs::read_to_string(path).unwrap(),
        _ => "null".into(),
    }
}

/// A folder of its own, gone at the end, with a database: a file in it, or, for all tests at once, a
/// schema of a server (MAINSPRING_TEST_STORE=postgres).
pub struct Folder {
    path: PathBuf,
    url: Option<String>,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        let mut folder = Folder::with_file(name);
        folder.url = on_server();
        folder
    }

    /// The same for a test that opens the file by itself.
    pub fn with_file(name: &str) -> Self {
        static COUNT: AtomicI64 = AtomicI64::new(0);
        let n = COUNT.fetch_add(1, Ordering::SeqCst);
        let path =
            std::env::temp_dir().join(format!("mainspring-{}-{name}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder { path, url: None }
    }

    pub fn database(&self) -> PathBuf {
        self.url.as_ref().map_or_else(|| self.path.join("test.db"), PathBuf::from)
    }

    /// The folder itself.
    pub fn home(&self) -> &std::path::Path {
        &self.path
    }

    /// Where logs, results and locks are.
    pub fn files(&self) -> PathBuf {
        self.path.join("test.files")
    }

    /// The store in the file, for a test that does harm to it.
    pub fn file_store(&self) -> SqliteStore {
        SqliteStore::open(self.path.join("test.db"), SqliteOptions::default()).unwrap()
    }

    pub fn store(&self) -> Box<dyn SqlStore> {
        mainspring::store::open(&self.database(), OpenOptions::default()).unwrap()
    }
}

#[allow(clippy::disallowed_methods, reason = "how all tests at once are told of another store")]
fn on_server() -> Option<String> {
    match std::env::var("MAINSPRING_TEST_STORE").as_deref() {
        #[cfg(feature = "postgres")]
        Ok("postgres") => Some(crate::postgres::server().url(&crate::postgres::fresh())),
        Err(_) => None,
        Ok(other) => panic!("this build has no store {other} to test"),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What a worker does first: the texts of the job filled in, or how that failed.
pub fn fill(job: &Job, secrets: &[(&str, &str)]) -> Result<(), Box<Finished>> {
    job.fill(&|name| {
        secrets.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

/// A session whose clock stands until it is moved.
pub struct Desk {
    pub session: Session,
    hand: Arc<AtomicI64>,
    files: PathBuf,
}

impl Desk {
    pub fn open(folder: &Folder) -> Desk {
        Desk::with(folder, folder.store())
    }

    /// The same, writing to this store.
    pub fn with(folder: &Folder, driving: Box<dyn Store>) -> Desk {
        Desk::at(folder, driving, START)
    }

    /// The same, opened at this instant.
    pub fn at(folder: &Folder, driving: Box<dyn Store>, now: Instant) -> Desk {
        Desk::leading(folder, driving, now, None).unwrap()
    }

    /// The same as the one who schedules for the database.
    pub fn leading(
        folder: &Folder,
        driving: Box<dyn Store>,
        now: Instant,
        leads: Option<&str>,
    ) -> Result<Desk, SessionError> {
        let (clock, hand) = Clock::test(now);
        let options = SessionOptions {
            database: folder.database(),
            files: Some(folder.files()),
            role: "test".into(),
            host: "here".into(),
            slots: 4,
            busy_wait: Duration::from_secs(60),
            clock,
            leads: leads.map(str::to_owned),
            durable: true,
            logs: LogOptions::default(),
        };
        let session = Session::open_with(options, Arc::new(Closures), driving)?;
        let hiring = session.hiring();
        std::thread::Builder::new().spawn(move || work(&hiring)).unwrap();
        Ok(Desk { session, hand, files: folder.files() })
    }

    /// Time passes, and everything happens that it brings.
    pub fn pass(&self, millis: i64) {
        let to = Instant(self.hand.load(Ordering::SeqCst)).plus_millis(millis);
        self.session.advance(&self.hand, to, &mut || true).unwrap();
    }

    /// Registers a dag with schedules, and fires them from now on.
    pub fn serve(&self, tasks: serde_json::Value, schedules: serde_json::Value, host: &Arc<Host>) {
        let spec = json!({"name": "d", "tasks": tasks, "schedules": schedules});
        self.session.register(&[check_definition(&spec).unwrap()]).unwrap();
        let host = Arc::clone(host) as HandlerHost;
        self.session.serve(vec![("d".into(), host)]).unwrap();
    }

    /// What the death of its process leaves behind: rows that say it lives, and files that nobody
    /// holds a lock on.
    pub fn vanish(&self) {
        for entry in std::fs::read_dir(self.files.join("locks")).unwrap() {
            let path = entry.unwrap().path();
            std::fs::remove_file(&path).unwrap();
            std::fs::File::create(&path).unwrap();
        }
    }

    pub fn advance(&self, millis: i64) {
        self.hand.fetch_add(millis * 1_000, Ordering::SeqCst);
        self.session.clock_moved().unwrap();
    }

    pub fn register(&self, tasks: serde_json::Value) {
        let spec = json!({"name": "d", "tasks": tasks});
        self.session.register(&[check_definition(&spec).unwrap()]).unwrap();
    }

    pub fn submit(&self, host: &Arc<Host>) -> RunId {
        let host = Arc::clone(host) as HandlerHost;
        self.session.submit("d", host, NewRunRequest::default()).unwrap()
    }

    /// Waits until the run cannot move; fails the test when it never comes to that.
    pub fn wait(&self, run: RunId) {
        let watch = self.session.watch(run).unwrap();
        assert!(watch.wait(Duration::from_secs(60)), "it ends: {:?}", watch.status());
    }

    /// Waits until this many task runs are in this state.
    pub fn until(&self, run: RunId, state: State, count: u32) {
        let watch = self.session.watch(run).unwrap();
        for _ in 0..60_000 {
            if watch.status().count(state) == count {
                return;
            }
            watch.wait(Duration::from_millis(1));
        }
        panic!("{count} in {state} never came: {:?}", watch.status());
    }
}

/// Name, state and attempts of each task run.
pub fn states(folder: &Folder, run: RunId) -> Vec<(String, State, u32)> {
    let views: Vec<TaskRunView> = folder.store().task_runs(run).unwrap();
    views.into_iter().map(|v| (v.task, v.row.progress.state, v.row.progress.attempt_no)).collect()
}

/// No invariant is broken.
pub fn sound(folder: &Folder) {
    assert_eq!(mainspring::runtime::verify(&mut *folder.store()).unwrap(), []);
}
