//! The `inline` executor: handlers run in the calling process, on threads of ours.
//!
//! A thread that is inside the interpreter takes job after job without leaving it, and only one
//! more thread at a time is on its way in. So many short handlers share one attached thread, and
//! many waiting ones get a thread each, without a rule for which is which.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::Sender;

use super::driver::Message;
use super::executor::{Called, Ended, Finished, Interpreter, Job, Reporter, StopHandle};
use super::files::{Files, INLINE_RESULT_LIMIT};
use super::logs::LogSink;
use crate::engine::{Report, TaskRunRef};
use crate::model::StopReason;

/// How long `close` waits for threads that have reported to leave, in milliseconds.
const LEAVING_MS: u32 = 50;

/// The threads and what waits for them.
pub struct InlinePool {
    shared: Arc<Shared>,
}

struct Shared {
    interpreter: Arc<dyn Interpreter>,
    driver: Sender<Message>,
    files: Files,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Job>>,
    /// Threads asleep.
    idle: usize,
    /// A thread was woken or made and has not taken a job yet.
    coming: bool,
    closing: bool,
    threads: Vec<JoinHandle<()>>,
    /// Threads that ask running handlers to stop.
    stopping: Vec<JoinHandle<()>>,
    /// What is running, by its place.
    running: BTreeMap<TaskRunRef, Arc<Job>>,
}

impl InlinePool {
    /// A pool without threads; they are made when there is work.
    pub fn new(interpreter: Arc<dyn Interpreter>, driver: Sender<Message>, files: Files) -> Self {
        let shared = Shared {
            interpreter,
            driver,
            files,
            state: Mutex::new(State::default()),
            wake: Condvar::new(),
        };
        InlinePool { shared: Arc::new(shared) }
    }

    /// Takes jobs, in their order.
    pub fn submit(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        state.queue.extend(jobs.into_iter().map(Arc::new));
        Shared::send_for_help(&self.shared, &mut state);
    }

    /// Asks an attempt to stop. One that has not begun is dropped and reported at once.
    pub fn stop(&self, at: TaskRunRef, attempt_no: u32, reason: StopReason) {
        let mut state = self.shared.lock();
        let queued = state.queue.iter().position(|job| job.at == at);
        if let Some(job) = queued.and_then(|index| state.queue.remove(index)) {
            drop(state);
            let finished = Finished::failed("STOPPED", "Stopped", "stopped before it began");
            self.shared.ended(&job, finished);
            return;
        }
        let running = state.running.get(&at).filter(|job| job.attempt.attempt_no == attempt_no);
        let Some(job) = running.cloned() else { return };
        drop(state);
        if let Some((handle, reason)) = job.stoppable.ask(reason) {
            self.shared.stop_aside(handle, reason);
        }
    }

    /// The log of a running attempt.
    pub fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>> {
        self.shared.lock().running.get(&at).map(|job| Arc::clone(&job.log))
    }

    /// Ends the threads that have nothing to do and forgets those that never end.
    pub fn close(&self) {
        let (threads, stopping) = {
            let mut state = self.shared.lock();
            state.closing = true;
            state.queue.clear();
            self.shared.wake.notify_all();
            (std::mem::take(&mut state.threads), std::mem::take(&mut state.stopping))
        };
        // Those that ask end by themselves, and must be out of the interpreter before it goes.
        for thread in stopping {
            let _ = thread.join();
        }
        // Threads that have just reported are about to go; the wait is for those alone.
        let mut stuck = true;
        for _ in 0..LEAVING_MS {
            stuck = !self.shared.lock().running.is_empty();
            if !stuck {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // A handler that does not end must not hold up the end of its process.
        for thread in threads.into_iter().filter(|thread| !stuck || thread.is_finished()) {
            // A thread that panicked has already reported what it could.
            let _ = thread.join();
        }
    }
}

impl Ended for Shared {
    fn ended(&self, job: &Job, finished: Finished) {
        self.lock().no_longer(job);
        self.report(job, finished);
    }
}

impl State {
    /// The job has ended; a later attempt in its place is left alone.
    fn no_longer(&mut self, job: &Job) {
        let attempt_no = job.attempt.attempt_no;
        if self.running.get(&job.at).is_some_and(|r| r.attempt.attempt_no == attempt_no) {
            self.running.remove(&job.at);
        }
    }
}

impl Shared {
    fn report(&self, job: &Job, mut finished: Finished) {
        let attempt = &job.attempt;
        let mut result_uri = None;
        if let Some(text) = finished.result.take_if(|text| text.len() > INLINE_RESULT_LIMIT) {
            let no = attempt.attempt_no;
            match self.files.keep_result(job.run.id, attempt.task_run_id, no, &text) {
                Ok(uri) => result_uri = Some(uri),
                Err(error) => {
                    let why = format!("the result could not be kept in a file: {error}");
                    finished = Finished::failed("RESULT", "ResultError", why);
                }
            }
        }
        let (log_uri, log_tail) = job.log.finish();
        finished.record.log_uri = log_uri;
        finished.record.log_tail = log_tail;
        let report = Report {
            at: job.at,
            attempt_no: attempt.attempt_no,
            token: attempt.token,
            outcome: finished.outcome,
            result: finished.result,
            result_uri,
            record: finished.record,
            released: true,
        };
        // The driver is gone only when the session was closed: nobody is left to be told.
        let _ = self.driver.send(Message::Report(report));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that a thread comes for the queue.
    fn send_for_help(shared: &Arc<Shared>, state: &mut State) {
        if state.coming || state.queue.is_empty() || state.closing {
            return;
        }
        state.coming = true;
        if state.idle > 0 {
            shared.wake.notify_one();
            return;
        }
        let own = Arc::clone(shared);
        let name = format!("mainspring-inline-{}", state.threads.len());
        match thread::Builder::new().name(name).spawn(move || own.work()) {
            Ok(thread) => state.threads.push(thread),
            // No thread to be had now: whoever ends a job next takes the queue on.
            Err(_) => state.coming = false,
        }
    }

    /// The life of a thread. It stays attached to the interpreter between jobs: attaching anew
    /// costs more than a short job.
    fn work(self: Arc<Self>) {
        let own = &self;
        self.interpreter.enter(&mut |rest| {
            loop {
                let mut open = true;
                rest(&mut || open = own.wait());
                if !open {
                    return;
                }
                let mut done = None;
                while let Some(job) = Shared::take(own, done.take()) {
                    done = own.run(job);
                }
            }
        });
    }

    /// Waits for a job; false when there will be none.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closing {
            // Whoever was sent for has found nothing left to do.
            state.coming = false;
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        !state.closing
    }

    /// The next job, and what has just been done is no longer running; one lock for both.
    fn take(shared: &Arc<Shared>, done: Option<Arc<Job>>) -> Option<Arc<Job>> {
        let mut state = shared.lock();
        if let Some(done) = done {
            state.no_longer(&done);
        }
        if state.closing {
            return None;
        }
        state.coming = false;
        let job = state.queue.pop_front()?;
        state.running.insert(job.at, Arc::clone(&job));
        Shared::send_for_help(shared, &mut state);
        Some(job)
    }

    /// Runs a job and reports its end; returned where it has ended, and not elsewhere or later.
    fn run(self: &Arc<Self>, job: Arc<Job>) -> Option<Arc<Job>> {
        let reporter = Reporter(Arc::clone(self) as Arc<dyn Ended>);
        let stoppable = |handle| {
            if let Some((handle, reason)) = job.stoppable.by(handle) {
                self.stop_aside(handle, reason);
            }
        };
        // A fault of ours in one call must not take the thread, and the attempt, with it.
        let call = AssertUnwindSafe(|| job.host.call(&job, &reporter, &stoppable));
        match std::panic::catch_unwind(call) {
            Ok(Called::Done(finished)) => self.report(&job, finished),
            Ok(Called::Later) => return None,
            Err(_) => {
                let why = "mainspring is at fault: the call panicked; please report it";
                self.report(&job, Finished::failed("PANIC", "Panic", why));
            }
        }
        Some(job)
    }

    /// Stopping needs the interpreter, which may be busy for long: never on the driver's thread.
    fn stop_aside(&self, handle: StopHandle, reason: StopReason) {
        let interpreter = Arc::clone(&self.interpreter);
        let stop = move || interpreter.enter(&mut |_| interpreter.stop(&handle, reason));
        // Without a thread the stop cannot be asked for; the attempt is given up after its grace.
        if let Ok(thread) = thread::Builder::new().name("mainspring-stop".into()).spawn(stop) {
            let mut state = self.lock();
            state.stopping.retain(|thread| !thread.is_finished());
            state.stopping.push(thread);
        }
    }
}
