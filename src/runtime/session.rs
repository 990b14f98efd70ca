//! One process's way to decide: opens the database, owns the driver, and is asked for runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded, unbounded};

use super::clock::Clock;
use super::driver::{Adopt, Driver, Message, Submit, plan_of, ready};
use super::executor::{HandlerHost, Interpreter};
use super::executors::{Executors, Processes};
use super::files::Files;
use super::inline::{Hiring, InlinePool};
use super::log_place::LogOptions;
use super::node::{LEASE_MS, NodeLock, is_alive};
#[cfg(unix)]
use super::process::{ProcessOptions, ProcessPool};
use super::refusal::SessionError;
use super::reporter::Reporter;
use super::request::{
    CachedPlan, NewRunRequest, Rerun, indexes, indexes_in, items_of_rows, new_run,
};
use super::told::Told;
use super::watch::{BackfillWatch, RunWatch};
use crate::engine::{Broken, Plan, RerunWhat, TaskRunRef, Word, World, check_pairs, explain};
use crate::model::{
    BackfillId, DagDef, Instant, NodeId, NodeRow, Problem, RunId, RunState, ScopeLease, SpecError,
};
use crate::store::{self, CommitError, OpenOptions, RegisteredDag, SqlStore, Store, StoredRun};

/// How often whoever waits for a run to be made is asked whether to go on.
const STEP: Duration = Duration::from_millis(50);

/// How often `close` looks whether the driver has ended.
const CLOSE_POLL: Duration = Duration::from_millis(1);

/// How a session is opened.
pub struct SessionOptions {
    /// The database: a file, or a URL.
    pub database: PathBuf,
    /// Where logs, results and locks are; none is beside the database.
    pub files: Option<PathBuf>,
    /// `notebook`, `cli`, ...
    pub role: String,
    /// This host's name.
    pub host: String,
    /// Slots of the default pool.
    pub slots: u32,
    /// How long to wait for another writer.
    pub busy_wait: Duration,
    /// The clock.
    pub clock: Clock,
    /// The name of the scope that it decides for, as the one who holds it; without one it decides
    /// for the runs that it makes.
    pub leads: Option<String>,
    /// Whether a commit survives the machine going down; only a simulated world can do without.
    pub durable: bool,
    /// Where output is brought to, and how much of it is kept.
    pub logs: LogOptions,
}

/// The façade.
pub struct Session {
    database: PathBuf,
    files: Files,
    host: String,
    lease: ScopeLease,
    pub(super) clock: Clock,
    inbox: Sender<Message>,
    /// For questions and registrations, beside the driver's own.
    pub(super) store: Mutex<Box<dyn SqlStore>>,
    plans: Mutex<BTreeMap<String, Arc<CachedPlan>>>,
    watches: Mutex<BTreeMap<RunId, Arc<RunWatch>>>,
    pub(super) backfills: Mutex<BTreeMap<BackfillId, Arc<BackfillWatch>>>,
    driver: Mutex<Option<JoinHandle<()>>>,
    hiring: Hiring,
    pub(super) told: Arc<Told>,
    processes: Processes,
    reporter: Reporter,
    _lock: NodeLock,
}

impl Session {
    /// Opens the database, making it if need be, and starts the driver.
    ///
    /// # Errors
    /// `SessionError::Store` with what is wrong with the file and what to do.
    pub fn open(
        options: SessionOptions,
        interpreter: Arc<dyn Interpreter>,
    ) -> Result<Session, SessionError> {
        let driving = open_store(&options)?;
        Session::open_with(options, interpreter, driving)
    }

    /// The same with the store that the driver is to write to, which a test may have spoilt.
    ///
    /// # Errors
    /// As [`Session::open`].
    #[doc(hidden)]
    pub fn open_with(
        options: SessionOptions,
        interpreter: Arc<dyn Interpreter>,
        mut driving: Box<dyn Store>,
    ) -> Result<Session, SessionError> {
        let store = open_store(&options)?;
        let SessionOptions { database, files, role, host, slots, clock, leads, logs, .. } = options;
        let files = Files::of(&database, files.as_deref()).with_logs(logs);
        let now = clock.now();
        let lease = driving.join(&NodeRow {
            id: NodeId(0),
            host: host.clone(),
            pid: i64::from(std::process::id()),
            role,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now,
            heartbeat_at: now,
            lease_until: now.plus_millis(LEASE_MS),
            stopped_at: None,
        })?;
        let lock = NodeLock::take(&files, lease.node_id.0).map_err(|error| {
            SessionError::Store(format!(
                "cannot make a lock file beside {}: {error}\n  hint: the folder must be writable",
                store::shown(&database.to_string_lossy())
            ))
        })?;
        let (lease, seen_until) = match leads {
            Some(name) => lead(&mut *driving, &name, lease, &files, &host, now)?,
            None => (lease, Instant(i64::MIN)),
        };
        let next = driving.next_ids()?;
        let world = World::new((next.run, next.task_run), slots, lease.node_id, lease.scope_id);
        let (inbox, received) = unbounded();
        let reporter = Reporter::new(inbox.clone(), files.clone());
        let processes = Processes::default();
        let inline = InlinePool::new(interpreter, reporter.clone());
        let hiring = inline.hiring();
        let pool = Executors::new(inline, processes.clone(), reporter.clone());
        let told = Arc::new(Told::default());
        let mut driver =
            Driver::new(driving, world, lease, clock.clone(), files.clone(), received, pool, slots);
        driver.told = Some(Arc::clone(&told));
        driver.seen_until = seen_until;
        let thread = std::thread::Builder::new()
            .name("mainspring-driver".into())
            .spawn(move || driver.run())
            .map_err(|error| {
                SessionError::Internal(format!("no thread for the driver: {error}"))
            })?;
        Ok(Session {
            database,
            files,
            host,
            lease,
            clock,
            inbox,
            store: Mutex::new(store),
            plans: Mutex::new(BTreeMap::new()),
            watches: Mutex::new(BTreeMap::new()),
            backfills: Mutex::new(BTreeMap::new()),
            driver: Mutex::new(Some(thread)),
            hiring,
            told,
            processes,
            reporter,
            _lock: lock,
        })
    }

    /// Where the threads that run handlers get their workers: the host language makes the first
    /// one, and more where a worker says so.
    pub fn hiring(&self) -> Hiring {
        self.hiring.clone()
    }

    /// From now on handlers in files ([`ProcessHost`](super::ProcessHost)) run in worker processes,
    /// which are started when there is work. Only the first call counts.
    #[cfg(unix)]
    pub fn use_processes(&self, options: ProcessOptions) {
        let pool = ProcessPool::new(options, self.reporter.clone());
        self.processes.are(Arc::new(pool));
    }

    /// The database: a file, or a URL.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Registers definitions; the same ones again change nothing.
    ///
    /// # Errors
    /// `SessionError::Spec` with every problem.
    pub fn register(&self, dags: &[DagDef]) -> Result<Vec<RegisteredDag>, SessionError> {
        let problems = self.pair_problems(dags)?;
        if !problems.is_empty() {
            return Err(SpecError(problems).into());
        }
        let registered = lock(&self.store).register(dags, self.clock.now())?;
        for dag in &registered {
            self.cache(dag.clone())?;
        }
        Ok(registered)
    }

    /// Edges to other runs that can never hold; what they look at is given, or registered already.
    fn pair_problems(&self, dags: &[DagDef]) -> Result<Vec<Problem>, SessionError> {
        let now = self.clock.now();
        let mut store = lock(&self.store);
        let mut failed = None;
        let mut find = |key: &str| {
            if let Some(given) = dags.iter().find(|dag| dag.key == key) {
                return Some(given.clone());
            }
            match store.dag(key) {
                Ok(found) => found.filter(|dag| !dag.removed).map(RegisteredDag::whole),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        };
        let problems = dags.iter().flat_map(|dag| check_pairs(dag, &mut find, now)).collect();
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(problems),
        }
    }

    fn cache(&self, registered: RegisteredDag) -> Result<Arc<CachedPlan>, SessionError> {
        let key = registered.def.key.clone();
        let (_, cached) = ready(registered)?;
        let cached = Arc::new(cached);
        lock(&self.plans).insert(key, Arc::clone(&cached));
        Ok(cached)
    }

    fn cached(&self, dag: &str) -> Result<Arc<CachedPlan>, SessionError> {
        let known = lock(&self.plans).get(dag).map(Arc::clone);
        if let Some(known) = known
            && self.is_fresh(&known)?
        {
            return Ok(known);
        }
        match lock(&self.store).dag(dag)? {
            Some(registered) => self.cache(registered),
            None => Err(SessionError::NotFound(format!("dag {dag} is not registered"))),
        }
    }

    /// Whether nobody has registered the dag otherwise since, or chosen other versions.
    fn is_fresh(&self, known: &CachedPlan) -> Result<bool, SessionError> {
        let mut store = lock(&self.store);
        if !store.changed()? {
            return Ok(true);
        }
        Ok(store.revisions()?.contains(&known.revision))
    }

    /// Makes a run of a registered dag and starts it; durable when this returns.
    ///
    /// # Errors
    /// `SessionError::Spec` with everything that is wrong with the parameters; `Store` when the
    /// run could not be written.
    pub fn submit(
        &self,
        dag: &str,
        host: HandlerHost,
        request: NewRunRequest,
    ) -> Result<RunId, SessionError> {
        self.submit_while(dag, host, request, &mut || true)?.ok_or(SessionError::Closed)
    }

    /// The same; while others hold the database, `go_on` is asked from time to time. None when it
    /// says no: what is made after that is canceled.
    ///
    /// # Errors
    /// As `submit`.
    pub fn submit_while(
        &self,
        dag: &str,
        host: HandlerHost,
        request: NewRunRequest,
        go_on: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<Option<RunId>, SessionError> {
        let cached = self.cached(dag)?;
        let run = new_run(&cached, request, self.clock.now())?;
        let (reply, answer) = bounded(1);
        self.send(Message::Submit(Submit { run, host, reply }))?;
        let (id, watch) = loop {
            match answer.recv_timeout(STEP) {
                Ok(made) => break made?,
                // Without anybody to be told the driver cancels what it makes.
                Err(RecvTimeoutError::Timeout) if !go_on() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(SessionError::Closed),
            }
        };
        lock(&self.watches).insert(id, watch);
        Ok(Some(id))
    }

    /// Takes up a run whose process is gone: what succeeded does not run again, what was
    /// interrupted counts as lost.
    ///
    /// # Errors
    /// `NotFound`; `Refused` when its process still lives or when it has ended.
    pub fn resume(&self, run: RunId, host: HandlerHost) -> Result<(), SessionError> {
        let stored = self.stored(run)?;
        if stored.row.state != RunState::Running {
            return Err(SessionError::Refused(format!(
                "run {run} has ended as {}\n  hint: rerun it instead",
                stored.row.state
            )));
        }
        self.adopt(stored, host, None)
    }

    /// Runs again what is final in a run.
    ///
    /// # Errors
    /// `NotFound`; `Refused` when what is asked for is not final, or another process decides.
    pub fn rerun(&self, run: RunId, host: HandlerHost, rerun: &Rerun) -> Result<(), SessionError> {
        let stored = self.stored(run)?;
        let plan = self.plan_of(&stored)?;
        let what = match &rerun.tasks {
            None => RerunWhat::Failed,
            Some(names) => {
                let indexes = indexes_of(&stored, &plan, names)?;
                if rerun.downstream {
                    RerunWhat::WithDownstream(indexes)
                } else {
                    RerunWhat::Only(indexes)
                }
            }
        };
        let ours = stored.row.state == RunState::Running
            && lock(&self.watches).get(&run).is_some_and(|watch| watch.status().lost.is_none());
        if ours {
            let (reply, answer) = bounded(1);
            self.send(Message::Rerun(run, what, reply))?;
            return answer.recv().map_err(|_| SessionError::Closed)?;
        }
        self.adopt(stored, host, Some(what))
    }

    fn adopt(
        &self,
        stored: StoredRun,
        host: HandlerHost,
        rerun: Option<RerunWhat>,
    ) -> Result<(), SessionError> {
        let run = stored.row.id;
        let plan = self.plan_of(&stored)?;
        let stored = self.take_over(stored)?;
        let (reply, answer) = bounded(1);
        self.send(Message::Adopt(Adopt { stored, plan, host, rerun, reply }))?;
        let watch = answer.recv().map_err(|_| SessionError::Closed)??;
        lock(&self.watches).insert(run, watch);
        Ok(())
    }

    /// Makes the run ours, unless its process lives and has not finished with it.
    fn take_over(&self, stored: StoredRun) -> Result<StoredRun, SessionError> {
        let run = stored.row.id;
        let now = self.clock.now();
        let mut store = lock(&self.store);
        let own = self.lease;
        if stored.row.scope_id == own.scope_id {
            return Ok(stored);
        }
        if stored.row.state == RunState::Running
            && let Some(holder) = store.holder(stored.row.scope_id)?
            && let Some(node) = store.node(holder.node_id)?
            && is_alive(&self.files, &node, &self.host, now)
        {
            return Err(SessionError::Refused(format!(
                "run {run} is being run by process {} on {}\n  hint: wait for it, or stop that process",
                node.pid, node.host
            )));
        }
        match store.take_over(run, stored.row.scope_id, own, now) {
            Ok(()) => {}
            Err(CommitError::Conflict { .. }) => {
                return Err(SessionError::Refused(format!(
                    "another process has just taken run {run}"
                )));
            }
            Err(other) => return Err(SessionError::Store(other.to_string())),
        }
        store
            .stored_run(run)?
            .ok_or_else(|| SessionError::NotFound(format!("there is no run {run}")))
    }

    fn stored(&self, run: RunId) -> Result<StoredRun, SessionError> {
        lock(&self.store)
            .stored_run(run)?
            .ok_or_else(|| SessionError::NotFound(format!("there is no run {run}")))
    }

    /// The plan a run was made with.
    fn plan_of(&self, stored: &StoredRun) -> Result<Arc<Plan>, SessionError> {
        plan_of(&mut **lock(&self.store), stored)
    }

    /// The watch of a run that this process drives or has driven.
    pub fn watch(&self, run: RunId) -> Option<Arc<RunWatch>> {
        lock(&self.watches).get(&run).cloned()
    }

    /// Asks a run, or some of its tasks, to stop.
    ///
    /// # Errors
    /// `NotFound` for unknown tasks; `Closed`.
    pub fn cancel(
        &self,
        run: RunId,
        tasks: Option<&[String]>,
        grace_ms: Option<i64>,
    ) -> Result<(), SessionError> {
        let only = match tasks {
            None => None,
            Some(names) => {
                let stored = self.stored(run)?;
                Some(indexes_of(&stored, &*self.plan_of(&stored)?, names)?)
            }
        };
        self.send(Message::Cancel { run, only, grace_ms })
    }

    /// Says a person's word at a gate of a run that is driven here; durable when this returns.
    ///
    /// # Errors
    /// `NotFound` for an unknown task; `Refused` where nobody's word is awaited.
    pub fn approve(
        &self,
        run: RunId,
        task: &str,
        reject: bool,
        note: Option<String>,
        by: Option<String>,
    ) -> Result<(), SessionError> {
        let stored = self.stored(run)?;
        let index = indexes(&*self.plan_of(&stored)?, &[task.to_owned()])?.first().copied();
        if stored.row.state != RunState::Running {
            return Err(SessionError::Refused(format!(
                "nobody's word is awaited: run {run} has ended as {}",
                stored.row.state
            )));
        }
        let at = TaskRunRef { run, index: index.unwrap_or(0) };
        let (reply, answer) = bounded(1);
        self.send(Message::Approve(Word { at, reject, note, by }, reply))?;
        answer.recv().map_err(|_| SessionError::Closed)?
    }

    /// Why a task run is where it is.
    ///
    /// # Errors
    /// `NotFound`; `Closed`.
    pub fn explain(&self, run: RunId, task: &str) -> Result<String, SessionError> {
        let stored = self.stored(run)?;
        let plan = self.plan_of(&stored)?;
        let index = indexes_of(&stored, &plan, &[task.to_owned()])?.first().copied().unwrap_or(0);
        let at = TaskRunRef { run, index };
        let (reply, answer) = bounded(1);
        self.send(Message::Explain(at, reply))?;
        if let Some(text) = answer.recv().map_err(|_| SessionError::Closed)? {
            return Ok(text);
        }
        // Not among the runs that are being driven here: its rows say the same.
        let mut world = World::new((0, 0), 0, self.lease.node_id, self.lease.scope_id);
        let StoredRun { row, cancel_requested, task_runs, leases } = stored;
        let internal = |broken: Broken| SessionError::Internal(broken.to_string());
        world.load(row, cancel_requested, plan, task_runs, leases).map_err(internal)?;
        let explained = explain(&world, at, self.clock.now());
        Ok(explained.map(|found| found.to_string()).unwrap_or_default())
    }

    /// Says that a clock that stands was moved; the machine's clock needs no such word.
    ///
    /// # Errors
    /// `Closed`.
    pub fn clock_moved(&self) -> Result<(), SessionError> {
        self.send(Message::ClockMoved)
    }

    /// Interrupts what runs, and ends the driver. Safe to call twice. A driver that does not end
    /// within `at_most`, because another process holds the database, is left behind.
    pub fn close(&self, grace_ms: i64, at_most: Option<Duration>) {
        let _ = self.inbox.send(Message::Close { grace_ms });
        if let Some(driver) = lock(&self.driver).take() {
            let mut left = at_most;
            while !driver.is_finished() && left != Some(Duration::ZERO) {
                std::thread::sleep(CLOSE_POLL);
                left = left.map(|left| left.saturating_sub(CLOSE_POLL));
            }
            if driver.is_finished() {
                // A driver that panicked has nothing more to say.
                let _ = driver.join();
            }
        }
        if let Some(processes) = self.processes.get() {
            processes.close();
        }
        self.hiring.close();
    }

    pub(super) fn lease(&self) -> ScopeLease {
        self.lease
    }

    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn send(&self, message: Message) -> Result<(), SessionError> {
        self.inbox.send(message).map_err(|_| SessionError::Closed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close(0, None);
    }
}

/// Indexes of tasks and items of a run that is stored.
fn indexes_of(stored: &StoredRun, plan: &Plan, names: &[String]) -> Result<Vec<u32>, SessionError> {
    indexes_in(plan, names, &|of| items_of_rows(stored, plan, of))
}

/// Takes a scope from whoever had it and is gone; says until when that one was there.
fn lead(
    store: &mut dyn Store,
    name: &str,
    own: ScopeLease,
    files: &Files,
    host: &str,
    now: Instant,
) -> Result<(ScopeLease, Instant), SessionError> {
    let held = store.scope_named(name)?;
    let holder = held.map(|held| store.node(held.node_id)).transpose()?.flatten();
    let seen = |node: &NodeRow| node.stopped_at.unwrap_or(node.heartbeat_at).min(now);
    let seen_until = holder.as_ref().map_or(Instant(i64::MIN), seen);
    if let Some(node) = holder.filter(|node| is_alive(files, node, host, now)) {
        // Not refused by a clock: the lease of whoever lives grows with each sign of life.
        store.leave(own, now)?;
        return Err(SessionError::Refused(format!(
            "process {} on {} schedules for this database already\n  hint: stop it, or wait for its end with `mainspring up --standby`",
            node.pid, node.host
        )));
    }
    match store.lead(name, own.node_id, held, now) {
        Ok(lease) => Ok((lease, seen_until)),
        Err(CommitError::Fenced) => {
            store.leave(own, now)?;
            Err(SessionError::Refused(
                "another process has just begun to schedule for this database".to_owned(),
            ))
        }
        Err(other) => Err(SessionError::Store(other.to_string())),
    }
}

fn open_store(options: &SessionOptions) -> Result<Box<dyn SqlStore>, SessionError> {
    let how = OpenOptions { busy_wait: options.busy_wait, durable: options.durable, make: true };
    Ok(store::open(&options.database, how)?)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
