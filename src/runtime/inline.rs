//! The `inline` executor: handlers run in the calling process, on threads of ours.
//!
//! A thread that is inside the interpreter takes job after job without leaving it, and only one
//! more thread at a time is on its way in. So many short handlers share one attached thread, and
//! many waiting ones get a thread each, without a rule for which is which.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::Sender;

use super::driver::Message;
use super::executor::{Called, Ended, Finished, Interpreter, Job, Reporter, StopHandle};
use super::files::{Files, INLINE_RESULT_LIMIT};
use super::logs::LogSink;
use crate::engine::{Report, TaskRunRef};
use crate::model::StopReason;

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
    /// What is running, by its place, with the way to stop it.
    running: BTreeMap<TaskRunRef, Running>,
}

struct Running {
    job: Arc<Job>,
    handle: Option<StopHandle>,
    /// A stop that came before the handle.
    stop: Option<StopReason>,
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

    /// Takes a job.
    pub fn submit(&self, job: Job) {
        let mut state = self.shared.lock();
        state.queue.push_back(Arc::new(job));
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
        let Some(running) = state.running.get_mut(&at).filter(|r| r.is(attempt_no)) else {
            return;
        };
        match running.handle.clone() {
            Some(handle) => {
                drop(state);
                self.shared.stop_aside(handle, reason);
            }
            None => running.stop = Some(reason),
        }
    }

    /// The log of a running attempt.
    pub fn log_of(&self, at: TaskRunRef) -> Option<Arc<LogSink>> {
        self.shared.lock().running.get(&at).map(|running| Arc::clone(&running.job.log))
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
        let stuck = !self.shared.lock().running.is_empty();
        // A handler that does not end must not hold up the end of its process.
        for thread in threads.into_iter().filter(|thread| !stuck || thread.is_finished()) {
            // A thread that panicked has already reported what it could.
            let _ = thread.join();
        }
    }
}

impl Running {
    fn is(&self, attempt_no: u32) -> bool {
        self.job.attempt.attempt_no == attempt_no
    }
}

impl Ended for Shared {
    fn ended(&self, job: &Job, mut finished: Finished) {
        let attempt = &job.attempt;
        {
            let mut state = self.lock();
            if state.running.get(&job.at).is_some_and(|r| r.is(attempt.attempt_no)) {
                state.running.remove(&job.at);
            }
        }
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
                while let Some(job) = Shared::take(own) {
                    own.run(job);
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

    fn take(shared: &Arc<Shared>) -> Option<Arc<Job>> {
        let mut state = shared.lock();
        if state.closing {
            return None;
        }
        state.coming = false;
        let job = state.queue.pop_front()?;
        state.running.insert(job.at, Running { job: Arc::clone(&job), handle: None, stop: None });
        Shared::send_for_help(shared, &mut state);
        Some(job)
    }

    fn run(self: &Arc<Self>, job: Arc<Job>) {
        let reporter = Reporter(Arc::clone(self) as Arc<dyn Ended>);
        let stoppable = |handle| self.now_stoppable(job.at, job.attempt.attempt_no, handle);
        // A fault of ours in one call must not take the thread, and the attempt, with it.
        let call = AssertUnwindSafe(|| job.host.call(&job, &reporter, &stoppable));
        match std::panic::catch_unwind(call) {
            Ok(Called::Done(finished)) => self.ended(&job, finished),
            Ok(Called::Later) => {}
            Err(_) => {
                let why = "mainspring is at fault: the call panicked; please report it";
                self.ended(&job, Finished::failed("PANIC", "Panic", why));
            }
        }
    }

    fn now_stoppable(&self, at: TaskRunRef, attempt_no: u32, handle: StopHandle) {
        let stop = {
            let mut state = self.lock();
            let Some(running) = state.running.get_mut(&at).filter(|r| r.is(attempt_no)) else {
                return;
            };
            running.handle = Some(Arc::clone(&handle));
            running.stop.take()
        };
        if let Some(reason) = stop {
            self.stop_aside(handle, reason);
        }
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
