//! The worker's side: what a process does to be one, and what it says.
//!
//! The handlers that it calls are the host language's, which asks for one order after the other.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::process::{WaitId, WaitIdOptions};
use rustix::stdio::{dup2_stdin, stdin};
use serde_json::value::RawValue;

use super::frames::{Inbox, send};
use super::proc;
use super::supervisor::{REASON, short};
use super::wire::{Done, FromWorker, WireInput, WireJob};
use crate::engine::TaskRunRef;
use crate::model::StopReason;
use crate::runtime::clock::Clock;
use crate::runtime::executor::{Finished, Job, JobItem, ProcessHost, Said, Stoppable};
use crate::runtime::logs::LogSink;
use crate::runtime::render::Texts;

/// The first number that the socket may have: out of the way of what handlers do with small ones.
const HIGH: i32 = 200;

/// A worker's connection to the scheduler.
pub struct WorkerLine {
    socket: OwnedFd,
    inbox: Mutex<Inbox>,
    clock: Clock,
    supervisor: i32,
    pid: i32,
}

/// One attempt to be run here.
pub struct Order {
    /// The file, the dag in it, and the version of the file.
    pub host: ProcessHost,
    /// The attempt, as handlers of the scheduler's own process would have it.
    pub job: Arc<Job>,
}

impl WorkerLine {
    /// Makes this process a worker: its standard input is the socket, and becomes empty. It ends
    /// with its supervisor.
    ///
    /// # Errors
    /// Those of the kernel; that it was not started as a worker.
    pub fn open() -> io::Result<WorkerLine> {
        let supervisor = rustix::process::getppid();
        // The supervisor has one thread, so its end is the end of the thread that this one heeds.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        if supervisor.is_none() || rustix::process::getppid() != supervisor {
            return Err(io::Error::other("the supervisor of this worker is gone"));
        }
        let socket = rustix::io::fcntl_dupfd_cloexec(stdin(), HIGH)
            .or_else(|_| rustix::io::fcntl_dupfd_cloexec(stdin(), 3))?;
        rustix::net::sockopt::socket_type(&socket).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "this is no worker: it has no socket")
        })?;
        let empty = CString::new("/dev/null")?;
        dup2_stdin(rustix::fs::open(&*empty, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
        Ok(WorkerLine {
            socket,
            inbox: Mutex::default(),
            clock: Clock::machine(),
            supervisor: supervisor.map_or(0, |pid| pid.as_raw_nonzero().get()),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
        })
    }

    /// Whether this is the worker, and not what a handler made of it by forking.
    pub fn is_worker(&self) -> bool {
        rustix::process::getpid().as_raw_nonzero().get() == self.pid
    }

    /// Says that it has come up.
    ///
    /// # Errors
    /// The scheduler is gone.
    pub fn ready(&self) -> io::Result<()> {
        send(&self.socket, &FromWorker::Ready)
    }

    /// Waits for the next attempt; none when there will be no more.
    ///
    /// # Errors
    /// What came is no attempt.
    pub fn next(&self) -> io::Result<Option<Order>> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let wire = loop {
            if let Some(wire) = inbox.take::<WireJob>()? {
                break wire;
            }
            if inbox.closed {
                return Ok(None);
            }
            inbox.receive(self.socket.as_fd(), true)?;
        };
        Ok(Some(self.order(wire)))
    }

    fn order(&self, wire: WireJob) -> Order {
        let host =
            ProcessHost { file: PathBuf::from(wire.file), dag: wire.dag, version: wire.version };
        let named = |inputs: Vec<(String, WireInput)>| {
            inputs.into_iter().map(|(name, input)| (name, input.into_input())).collect()
        };
        let job = Job {
            texts: Texts::of(&wire.def, named(wire.results)),
            at: TaskRunRef { run: wire.at.0, index: wire.at.1 },
            attempt: wire.attempt,
            def: wire.def,
            run: Arc::new(wire.run.into_info()),
            item: wire.item.map(|(map_index, text)| JobItem { map_index, text: text.get().into() }),
            inputs: named(wire.inputs),
            host: Arc::new(()),
            log: Arc::new(LogSink::standard(&self.clock)),
            clock: self.clock.clone(),
            stoppable: Stoppable::default(),
            said: Said::default(),
        };
        Order { host, job: Arc::new(job) }
    }

    /// Tells how an attempt ended. Whatever it printed must lie in the pipes by now.
    ///
    /// # Errors
    /// The scheduler is gone; a result that is no JSON.
    pub fn done(
        &self,
        finished: Finished,
        cpu_total_ms: i64,
        imported: bool,
        spoilt: Option<String>,
    ) -> io::Result<()> {
        let result = finished.result.map(|text| RawValue::from_string(text.to_string()));
        let done = Done {
            outcome: finished.outcome,
            result: result.transpose()?,
            record: finished.record,
            cpu_total_ms,
            imported,
            spoilt,
            not_ready: finished.not_ready,
        };
        send(&self.socket, &FromWorker::Done(Box::new(done)))
    }

    /// Whether processes of handlers live on: children, or orphans that the supervisor adopted.
    /// Children that have ended and were never waited for do not count.
    pub fn left_processes(&self) -> bool {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        loop {
            match rustix::process::waitid(WaitId::All, ended) {
                // One that had ended: reaped, and the next is looked at.
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => break,
            }
        }
        proc::has_children_beside(self.supervisor, self.pid).unwrap_or_else(|| {
            let descendants = proc::descendants(self.supervisor);
            descendants.iter().any(|identity| identity.pid != self.pid)
        })
    }
}

/// Why this worker's tree is being ended, as its supervisor shows it; none where it is not.
pub fn stop_reason() -> Option<StopReason> {
    let supervisor = rustix::process::getppid()?.as_raw_nonzero().get();
    let name = std::fs::read_to_string(format!("/proc/{supervisor}/comm")).ok()?;
    let word = name.trim_end().strip_prefix(REASON)?;
    StopReason::ALL.iter().copied().find(|reason| short(*reason) == word)
}
