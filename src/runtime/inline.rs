//! The `inline` executor: handlers run in the calling process.
//!
//! The threads are the host language's own: each has a `Worker`, takes job after job with it, and
//! waits with it outside of the interpreter when there is none. One thread at a time is sent for,
//! so many short handlers share one thread that stays inside, and many waiting ones get a thread
//! each, without a rule for which is which.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::executor::{Executor, Finished, Interpreter, Job, StopHandle};
use super::logs::LogSink;
use super::reporter::Reporter;
use crate::engine::TaskRunRef;
use crate::model::StopReason;

/// How long `close` waits for threads that are inside our code to leave it, in milliseconds.
const LEAVING_MS: u32 = 1_000;

/// The threads and what waits for them.
pub struct InlinePool {
    shared: Arc<Shared>,
}

struct Shared {
    interpreter: Arc<dyn Interpreter>,
    reporter: Reporter,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Job>>,
    /// Threads that have a worker.
    threads: usize,
    /// Those of them that wait.
    idle: usize,
    /// Those of them that are between us and the interpreter.
    inside: usize,
    /// One of them was woken and has not taken a job yet.
    coming: bool,
    /// Somebody was told to make a thread, which has not come yet.
    expected: bool,
    closing: bool,
    /// Threads that ask running handlers to stop.
    stopping: Vec<JoinHandle<()>>,
    /// What is running, by its place.
    running: BTreeMap<TaskRunRef, Arc<Job>>,
}

impl InlinePool {
    /// A pool without threads; they are made when there is work.
    pub fn new(interpreter: Arc<dyn Interpreter>, reporter: Reporter) -> Self {
        let shared = Shared {
            interpreter,
            reporter,
            state: Mutex::new(State::default()),
            wake: Condvar::new(),
        };
        InlinePool { shared: Arc::new(shared) }
    }

    /// Where the first thread gets its worker, and every further one.
    pub fn hiring(&self) -> Hiring {
        Hiring { shared: Arc::clone(&self.shared) }
    }
}

impl Executor for InlinePool {
    fn submit(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        state.queue.extend(jobs.into_iter().map(Arc::new));
        self.shared.send_for_help(&mut state);
    }

    fn stop(&self, at: TaskRunRef, attempt_no: u32, reason: StopReason, _grace_ms: i64) {
        let mut state = self.shared.lock();
        let queued = state.queue.iter().position(|job| job.at == at);
        if let Some(job) = queued.and_then(|index| state.queue.remove(index)) {
            drop(state);
            let finished = Finished::failed("STOPPED", "Stopped", "stopped before it began");
            self.shared.reporter.report(&job, finished);
            return;
        }
        let running = state.running.get(&at).filter(|job| job.attempt.attempt_no == attempt_no);
        let Some(job) = running.cloned() else { return };
        drop(state);
        if let Some((handle, reason)) = job.stoppable.ask(reason) {
            self.shared.stop_aside(handle, reason);
        }
    }

    fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>> {
        self.shared.lock().running.get(&at).map(|job| Arc::clone(&job.log))
    }

    fn params_of(&self, at: TaskRunRef) -> Option<String> {
        self.shared.lock().running.get(&at).and_then(|job| job.kept().map(str::to_owned))
    }

    fn close(&self) {
        self.hiring().close();
    }
}

/// Where threads get their workers.
#[derive(Clone)]
pub struct Hiring {
    shared: Arc<Shared>,
}

impl Hiring {
    /// The worker of a thread that has come.
    pub fn hire(&self) -> Worker {
        let mut state = self.shared.lock();
        state.threads += 1;
        state.expected = false;
        Worker { shared: Arc::clone(&self.shared), done: Mutex::default() }
    }

    /// Sends the threads away. Those inside handlers that never end are left behind: they are the
    /// host language's, which knows what to do with them when it goes.
    pub fn close(&self) {
        let stopping = {
            let mut state = self.shared.lock();
            state.closing = true;
            state.queue.clear();
            self.shared.wake.notify_all();
            std::mem::take(&mut state.stopping)
        };
        // Those that ask end by themselves, and must be out of the interpreter before it goes.
        for thread in stopping {
            // A thread that panicked has nothing more to ask.
            let _ = thread.join();
        }
        for _ in 0..LEAVING_MS {
            let state = self.shared.lock();
            if state.inside == 0 && state.threads <= state.running.len() {
                break;
            }
            drop(state);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tells the end of a job that went on elsewhere than on the thread that took it.
    pub fn ended(&self, job: &Job, finished: Finished) {
        self.shared.lock().no_longer(job);
        self.shared.reporter.report(job, finished);
    }
}

/// A thread's way to its jobs.
pub struct Worker {
    shared: Arc<Shared>,
    /// What it has just done; taken off the list with the next job, under one lock.
    done: Mutex<Option<Arc<Job>>>,
}

/// What a worker is given.
pub enum Next {
    /// A job; `alone` where no thread is left to take another, so that one should be made.
    Job(Arc<Job>, bool),
    /// Nothing now: wait.
    Nothing,
    /// Nothing ever again: the thread should end.
    Closed,
}

impl Worker {
    /// The next job, if there is one.
    pub fn next(&self) -> Next {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut state = self.shared.lock();
        if let Some(done) = done {
            state.no_longer(&done);
        }
        if state.closing {
            return Next::Closed;
        }
        state.coming = false;
        let Some(job) = state.queue.pop_front() else { return Next::Nothing };
        state.running.insert(job.at, Arc::clone(&job));
        let alone = state.idle == 0 && !state.expected;
        state.expected |= alone;
        self.shared.send_for_help(&mut state);
        Next::Job(job, alone)
    }

    /// Waits until there may be a job. Outside of the interpreter, so that others can have it.
    pub fn wait(&self) {
        let mut state = self.shared.lock();
        while state.queue.is_empty() && !state.closing {
            // Whoever was sent for has found nothing left to do.
            state.coming = false;
            state.idle += 1;
            state = self.shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Comes into our code with the interpreter in hand; none where the session was closed, and
    /// nobody wants to hear of any end any more. Closing waits for those who are inside.
    pub fn inside(&self) -> Option<Inside> {
        let mut state = self.shared.lock();
        if state.closing {
            return None;
        }
        state.inside += 1;
        Some(Inside { shared: Arc::clone(&self.shared) })
    }

    /// The job can be stopped by this from now on.
    pub fn stoppable(&self, job: &Job, handle: StopHandle) {
        if let Some((handle, reason)) = job.stoppable.by(handle) {
            self.shared.stop_aside(handle, reason);
        }
    }

    /// Tells the end of the job that this thread has run.
    pub fn report(&self, job: &Arc<Job>, finished: Finished) {
        self.shared.reporter.report(job, finished);
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(job));
    }

    /// The thread could not be made that this worker was told to make.
    pub fn nobody_came(&self) {
        self.shared.lock().expected = false;
    }
}

/// A thread is in our code, and calls the interpreter from it.
pub struct Inside {
    shared: Arc<Shared>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.shared.lock().inside -= 1;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut state = self.shared.lock();
        if let Some(done) = done {
            state.no_longer(&done);
        }
        state.threads -= 1;
    }
}

impl State {
    /// The job has ended; a later one in its place is left alone, be it the next check of a probe.
    fn no_longer(&mut self, job: &Job) {
        if self.running.get(&job.at).is_some_and(|running| std::ptr::eq(&**running, job)) {
            self.running.remove(&job.at);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a thread for the queue, unless one is on its way.
    fn send_for_help(&self, state: &mut State) {
        if !state.coming && state.idle > 0 && !state.queue.is_empty() {
            state.coming = true;
            self.wake.notify_one();
        }
    }

    /// Stopping needs the interpreter, which may be busy for long: never on the driver's thread.
    fn stop_aside(&self, handle: StopHandle, reason: StopReason) {
        let interpreter = Arc::clone(&self.interpreter);
        let stop = move || interpreter.stop(&handle, reason);
        // Without a thread the stop cannot be asked for; the attempt is given up after its grace.
        if let Ok(thread) = thread::Builder::new().name("mainspring-stop".into()).spawn(stop) {
            let mut state = self.lock();
            state.stopping.retain(|thread| !thread.is_finished());
            state.stopping.push(thread);
        }
    }
}
