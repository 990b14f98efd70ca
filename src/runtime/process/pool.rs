//! The pool: a queue, and seats at which workers run one attempt after the other.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::control::Control;
use super::ends;
use super::options::ProcessOptions;
use super::seat::{Crew, NoCrew, Ran};
use super::sweep::{mark, sweep_orphans};
use crate::engine::TaskRunRef;
use crate::model::StopReason;
use crate::runtime::clock::Stopwatch;
use crate::runtime::crash;
use crate::runtime::executor::{Executor, Finished, Job, ProcessHost};
use crate::runtime::logs::LogSink;
use crate::runtime::reporter::Reporter;

/// How many workers an attempt is given to, or waits for, that end before it has begun.
const TRIES: u32 = 5;
/// Of the time a stop may take, what is kept for killing and for the news of it: one part in five.
const RESERVE: u64 = 5;
/// How long closing waits for the threads.
const CLOSE: Duration = Duration::from_secs(10);
/// Workers beyond those for attempts with slots: else checks of probes would wait for long ones.
const FOR_CHECKS: u32 = 2;
/// What a worker that is not needed has to leave in good order.
const LEAVE: Duration = Duration::from_secs(1);

/// Worker processes for handlers in files.
pub struct ProcessPool {
    shared: Arc<Shared>,
}

struct Shared {
    options: ProcessOptions,
    reporter: Reporter,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Job>>,
    seats: Vec<Arc<Seat>>,
    threads: Vec<JoinHandle<()>>,
    /// Numbers the workers.
    workers: u64,
    swept: bool,
    closing: bool,
}

/// A place for one worker, with a thread in the scheduler. What changes is behind the pool's lock.
#[derive(Default)]
struct Seat {
    wake: Condvar,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// Its thread lives.
    open: bool,
    /// Its thread is to end.
    leave: bool,
    /// What it is to run next or runs.
    job: Option<Arc<Job>>,
    /// Asked to stop, before or after it began.
    stop: Option<StopReason>,
    /// Where its supervisor is asked to end it, once it may have begun.
    control: Option<Arc<Control>>,
    /// What its worker has imported, for choosing.
    files: Vec<(PathBuf, String)>,
}

impl Held {
    fn is_free(&self) -> bool {
        self.open && self.job.is_none()
    }

    /// How well its worker suits: it has the very file; it may import it; it has to be replaced.
    fn suits(&self, host: &ProcessHost) -> Suits {
        suits(self.files.iter().map(|(file, version)| (file.as_path(), version.as_str())), host)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Suits {
    No,
    Yes,
    Best,
}

fn suits<'a>(files: impl Iterator<Item = (&'a Path, &'a str)>, host: &ProcessHost) -> Suits {
    let mut found = Suits::Yes;
    for (file, version) in files {
        if file == host.file {
            return if version == host.version { Suits::Best } else { Suits::No };
        }
        if file.parent() != host.file.parent() {
            found = Suits::No;
        }
    }
    found
}

impl ProcessPool {
    /// A pool without workers; they are started when there is work.
    pub fn new(options: ProcessOptions, reporter: Reporter) -> Self {
        let shared = Shared { options, reporter, state: Mutex::default() };
        ProcessPool { shared: Arc::new(shared) }
    }

    fn find(&self, at: TaskRunRef, attempt_no: Option<u32>) -> Option<(Arc<Seat>, Arc<Job>)> {
        let state = self.shared.lock();
        state.seats.iter().find_map(|seat| {
            let job = seat.lock().job.clone()?;
            let same = attempt_no.is_none_or(|no| job.attempt.attempt_no == no);
            (job.at == at && same).then(|| (Arc::clone(seat), job))
        })
    }
}

impl Executor for ProcessPool {
    fn submit(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        let sweep = !std::mem::replace(&mut state.swept, true);
        for job in jobs {
            let job = Arc::new(job);
            if let Some(job) = self.shared.place(&mut state, job, sweep) {
                state.queue.push_back(job);
            }
        }
    }

    fn stop(&self, at: TaskRunRef, attempt_no: u32, reason: StopReason, grace_ms: i64) {
        let mut state = self.shared.lock();
        let queued = state.queue.iter().position(|job| job.at == at);
        if let Some(job) = queued.and_then(|index| state.queue.remove(index)) {
            drop(state);
            self.shared.reporter.report(&job, not_begun());
            return;
        }
        drop(state);
        if let Some((seat, _)) = self.find(at, Some(attempt_no)) {
            let grace_ms = u64::try_from(grace_ms).unwrap_or(0);
            seat.lock().stop_now(at, attempt_no, reason, grace_ms - grace_ms / RESERVE);
        }
    }

    fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>> {
        self.find(at, None).map(|(_, job)| Arc::clone(&job.log))
    }

    fn lease_lost(&self) {
        let mut state = self.shared.lock();
        state.queue.clear();
        for seat in &state.seats {
            let mut held = seat.lock();
            if let Some(job) = held.job.clone() {
                held.stop_now(job.at, job.attempt.attempt_no, StopReason::Interrupt, 0);
            }
        }
    }

    fn close(&self) {
        self.lease_lost();
        let threads = {
            let mut state = self.shared.lock();
            state.closing = true;
            for seat in &state.seats {
                seat.lock().leave = true;
                seat.wake.notify_all();
            }
            std::mem::take(&mut state.threads)
        };
        let watch = Stopwatch::start();
        for thread in threads {
            while !thread.is_finished() && !watch.left_of(CLOSE).is_zero() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // A thread that panicked has nothing more to say.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for ProcessPool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Held {
    /// Notes the stop; a worker that may have begun is ended within the grace.
    fn stop_now(&mut self, at: TaskRunRef, attempt_no: u32, reason: StopReason, grace_ms: u64) {
        let mine = |job: &Arc<Job>| job.at == at && job.attempt.attempt_no == attempt_no;
        if !self.job.as_ref().is_some_and(mine) {
            return;
        }
        self.stop = self.stop.or(Some(reason));
        if let Some(control) = &self.control {
            control.kill(grace_ms, Some(reason));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a job to the seat that suits best, or to a new one; the job back where all are taken.
    fn place(self: &Arc<Self>, state: &mut State, job: Arc<Job>, sweep: bool) -> Option<Arc<Job>> {
        let host = job.host.downcast_ref::<ProcessHost>()?;
        let free = state.seats.iter().filter_map(|seat| {
            let held = seat.lock();
            held.is_free().then(|| (held.suits(host), Arc::clone(seat)))
        });
        let best = free.max_by_key(|(suits, _)| *suits);
        let most = match job.def.is_probe() {
            true => self.options.workers.saturating_add(FOR_CHECKS),
            false => self.options.workers,
        };
        let room = state.seats.iter().filter(|seat| seat.lock().open).count()
            < usize::try_from(most).unwrap_or(usize::MAX);
        let seat = match best {
            Some((suits, seat)) if suits > Suits::No || !room => seat,
            _ if room => match self.open_seat(state, sweep) {
                Ok(seat) => seat,
                Err(error) => {
                    self.reporter.report(&job, ends::no_worker(&job, &error.to_string()));
                    return None;
                }
            },
            _ => return Some(job),
        };
        let mut held = seat.lock();
        held.job = Some(job);
        held.stop = None;
        held.control = None;
        seat.wake.notify_one();
        None
    }

    fn open_seat(self: &Arc<Self>, state: &mut State, sweep: bool) -> std::io::Result<Arc<Seat>> {
        state.seats.retain(|seat| seat.lock().open);
        state.threads.retain(|thread| !thread.is_finished());
        let seat = Arc::new(Seat::default());
        seat.lock().open = true;
        let (shared, its) = (Arc::clone(self), Arc::clone(&seat));
        let thread = std::thread::Builder::new().name("mainspring-worker".into());
        state.threads.push(thread.spawn(move || shared.serve(&its, sweep))?);
        state.seats.push(Arc::clone(&seat));
        Ok(seat)
    }

    /// The life of a seat's thread.
    fn serve(&self, seat: &Seat, sweep: bool) {
        if sweep {
            // What an earlier scheduler left behind, should its supervisors have been killed too.
            sweep_orphans();
        }
        let mut crew = None;
        while let Some(job) = self.wait(seat) {
            self.run(seat, &job, &mut crew);
            self.next(seat, crew.as_ref());
        }
        if let Some(crew) = crew {
            crew.end(LEAVE);
        }
    }

    /// The next job of a seat; none where its thread should end.
    fn wait(&self, seat: &Seat) -> Option<Arc<Job>> {
        let watch = Stopwatch::start();
        loop {
            {
                // The pool's lock comes first: a job may be on its way to this seat.
                let state = self.lock();
                let mut held = seat.lock();
                if let Some(job) = &held.job {
                    return Some(Arc::clone(job));
                }
                if state.closing || watch.left_of(self.options.idle).is_zero() {
                    held.open = false;
                    return None;
                }
            }
            let held = seat.lock();
            if held.job.is_none() && !held.leave {
                let left = watch.left_of(self.options.idle);
                let woken = seat.wake.wait_timeout(held, left);
                drop(woken);
            }
        }
    }

    /// The job of a seat has ended: it takes the next one of the queue.
    fn next(&self, seat: &Seat, crew: Option<&Crew>) {
        let mut state = self.lock();
        let mut held = seat.lock();
        let files = crew.map(|crew| crew.files().clone().into_iter().collect());
        held.files = files.unwrap_or_default();
        held.stop = None;
        held.control = None;
        held.job = if state.closing { None } else { state.queue.pop_front() };
    }

    fn run(&self, seat: &Seat, job: &Arc<Job>, crew: &mut Option<Crew>) {
        let Some(host) = job.host.downcast_ref::<ProcessHost>() else { return };
        let mut why = format!("{TRIES} workers ended before they took the attempt");
        for _ in 0..TRIES {
            let mine = match self.crew_for(host, crew.take()) {
                Ok(mine) => crew.insert(mine),
                Err(none) => {
                    why = none.why;
                    if none.killed && seat.over() {
                        continue;
                    }
                    break;
                }
            };
            if !seat.may_begin(mine.control()) {
                self.report(job, not_begun());
                return;
            }
            let stopped = || seat.lock().stop.is_some();
            let mut midway = |finished| self.reporter.tell(job, finished, false);
            match mine.run(job, host, &self.options, &stopped, &mut midway) {
                Ran::Done(finished) => {
                    let peak = finished.record.max_rss_kb;
                    if !seat.over() {
                        // The stop came when it had ended, but its worker is being killed.
                        if let Some(crew) = crew.take() {
                            crew.end(Duration::ZERO);
                        }
                        self.report(job, finished);
                        return;
                    }
                    self.report(job, finished);
                    if crew.as_ref().is_some_and(|crew| crew.is_worn(&self.options, peak))
                        && let Some(crew) = crew.take()
                    {
                        crew.end(LEAVE);
                    }
                    return;
                }
                Ran::Ended(finished) => {
                    seat.over();
                    self.report(job, finished);
                    if let Some(crew) = crew.take() {
                        crew.end(Duration::ZERO);
                    }
                    return;
                }
                Ran::NotBegun => {
                    if !seat.over() {
                        self.report(job, not_begun());
                        return;
                    }
                    if let Some(crew) = crew.take() {
                        crew.end(Duration::ZERO);
                    }
                }
            }
        }
        self.report(job, ends::no_worker(job, &why));
    }

    fn report(&self, job: &Job, finished: Finished) {
        crash::at("outcome.before");
        self.reporter.report(job, finished);
        crash::at("outcome.after");
    }

    /// The worker that a seat has, if it suits and lives, else a new one.
    fn crew_for(&self, host: &ProcessHost, crew: Option<Crew>) -> Result<Crew, NoCrew> {
        if let Some(mut crew) = crew {
            let files = crew.files().iter().map(|(file, version)| (file.as_path(), &**version));
            if suits(files, host) > Suits::No && !crew.is_gone() {
                return Ok(crew);
            }
            crew.end(LEAVE);
        }
        let number = {
            let mut state = self.lock();
            state.workers += 1;
            state.workers
        };
        Crew::start(&self.options, mark(number))
    }
}

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a stop ends the worker. False where one has come already.
    fn may_begin(&self, control: Arc<Control>) -> bool {
        let mut held = self.lock();
        if held.stop.is_some() {
            return false;
        }
        held.control = Some(control);
        true
    }

    /// From now on a stop does not reach the worker. False where one has.
    fn over(&self) -> bool {
        let mut held = self.lock();
        held.control = None;
        held.stop.is_none()
    }
}

fn not_begun() -> Finished {
    Finished::failed("STOPPED", "Stopped", "stopped before it began")
}
