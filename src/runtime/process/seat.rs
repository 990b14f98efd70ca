//! A worker process as its thread in the scheduler sees it: started, given attempts one after the
//! other, listened to, ended.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::net::{AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::net::{SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::control::Control;
use super::frames::{Inbox, send};
use super::options::ProcessOptions;
use super::sweep::{MARK, sweep_worker};
use super::wire::{DeathCertificate, FromSupervisor, FromWorker, WireJob};
use super::{ends, proc};
use crate::runtime::clock::Stopwatch;
use crate::runtime::crash;
use crate::runtime::executor::{Finished, Job, ProcessHost};
use crate::runtime::logs::{LogSink, Stream};

/// How long a worker's end may be news to its supervisor.
const NEWS: Duration = Duration::from_millis(200);
/// How much output is read at once.
const CHUNK: usize = 16 * 1024;
/// Exit code of a worker that cannot say how an attempt ended, for its connection was closed.
const CUT: i32 = 113;
/// How long a supervisor whose tree has ended may take to end itself.
const LEAVE: Duration = Duration::from_secs(5);
/// What is kept of the output of a worker that did not come up.
const COMPLAINT: usize = 2_000;

/// A worker, its supervisor, and the four ways to them.
pub struct Crew {
    supervisor: Child,
    control: Arc<Control>,
    data: OwnedFd,
    out: OwnedFd,
    err: OwnedFd,
    told: Inbox,
    said: Inbox,
    pid: i32,
    mark: String,
    attempts: u32,
    cpu_total_ms: i64,
    /// Versions of the files that it has imported. All lie in one folder: what a file imports from
    /// beside it is found by name, and another folder may have the same name.
    files: BTreeMap<PathBuf, String>,
    dead: Option<DeathCertificate>,
}

/// What has come from the processes.
enum News {
    Worker(FromWorker),
    WorkerGone,
    Supervisor(FromSupervisor),
    SupervisorGone,
    Nothing,
}

/// Where output goes.
type Log<'a> = &'a mut dyn FnMut(&[u8], Stream);

/// Why there is no worker.
pub struct NoCrew {
    /// In words, with what it printed.
    pub why: String,
    /// Somebody killed it: another one may come up.
    pub killed: bool,
}

/// What came of giving a worker an attempt.
pub enum Ran {
    /// It has ended; the worker can go on.
    Done(Finished),
    /// It has ended, and so has the worker.
    Ended(Finished),
    /// The worker was gone before it could be given the attempt.
    NotBegun,
}

impl Crew {
    /// Starts a worker and waits until it has come up.
    ///
    /// # Errors
    /// Why there is none.
    pub fn start(options: &ProcessOptions, mark: String) -> Result<Crew, NoCrew> {
        let mut crew = Crew::spawn(options, mark)
            .map_err(|error| NoCrew { why: error.to_string(), killed: false })?;
        let mut printed = Vec::new();
        let mut killed = false;
        let watch = Stopwatch::start();
        let why = loop {
            let left = watch.left_of(options.start);
            if left.is_zero() {
                break format!("it has not come up within {} s", options.start.as_secs());
            }
            let mut keep = |bytes: &[u8], _: Stream| printed.extend_from_slice(bytes);
            match crew.listen(&mut keep, Some(left)) {
                Ok(News::Worker(FromWorker::Ready)) => return Ok(crew),
                Ok(News::Supervisor(FromSupervisor::Started { pid })) => crew.pid = pid,
                Ok(News::Supervisor(FromSupervisor::NotStarted { why })) => break why,
                Ok(News::Supervisor(FromSupervisor::Dead { status })) => {
                    crew.dead = Some(status);
                    break match (status.exit_code, status.signal) {
                        (Some(code), _) => format!("it ended at once, with exit code {code}"),
                        (None, signal) => {
                            killed = true;
                            format!("it ended at once, by signal {}", signal.unwrap_or(0))
                        }
                    };
                }
                Ok(News::SupervisorGone) => {
                    killed = true;
                    break "its supervisor ended at once".into();
                }
                Ok(_) => {}
                Err(error) => break error.to_string(),
            }
        };
        crew.drain(&mut |bytes, _| printed.extend_from_slice(bytes), None);
        crew.end(Duration::ZERO);
        let tail = printed.get(printed.len().saturating_sub(COMPLAINT)..).unwrap_or_default();
        let tail = String::from_utf8_lossy(tail);
        let why = format!("{why}\n{}", tail.trim()).trim_end().to_owned();
        Err(NoCrew { why, killed })
    }

    fn spawn(options: &ProcessOptions, mark: String) -> io::Result<Crew> {
        let (control, theirs) = pair()?;
        let (data, workers) = pair()?;
        let (out, out_end) = pipe()?;
        let (err, err_end) = pipe()?;
        let [program, arguments @ ..] = options.supervisor.as_slice() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program was named"));
        };
        crash::at("spawn.before");
        let supervisor = Command::new(program)
            .args(arguments)
            .args(&options.worker)
            .envs(options.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, &mark)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(out_end))
            .stderr(Stdio::from(err_end))
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", program.to_string_lossy()))
            })?;
        crash::at("spawn.after");
        let pid = supervisor.id();
        let crew = Crew {
            supervisor,
            control: Arc::new(Control::new(control, pid)),
            data,
            out,
            err,
            told: Inbox::default(),
            said: Inbox::default(),
            pid: 0,
            mark,
            attempts: 0,
            cpu_total_ms: 0,
            files: BTreeMap::new(),
            dead: None,
        };
        // A supervisor that is gone already is found out by whoever listens next.
        let _ = give(crew.control.as_fd(), &workers);
        Ok(crew)
    }

    /// By which its supervisor is asked to end it.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// The files it has, by version.
    pub fn files(&self) -> &BTreeMap<PathBuf, String> {
        &self.files
    }

    /// Whether it has ended while nobody listened. What was printed meanwhile is nobody's.
    pub fn is_gone(&mut self) -> bool {
        loop {
            match self.listen(&mut |_, _| {}, Some(Duration::ZERO)) {
                Ok(News::Nothing) => return false,
                Ok(News::Supervisor(FromSupervisor::Dead { status })) => {
                    self.dead = Some(status);
                    return true;
                }
                Ok(News::Supervisor(_) | News::Worker(_)) => {}
                Ok(News::WorkerGone | News::SupervisorGone) | Err(_) => return true,
            }
        }
    }

    /// Whether it should be replaced by a fresh one: old, or grown large.
    pub fn is_worn(&self, options: &ProcessOptions, peak_kb: Option<i64>) -> bool {
        // What the attempt has given back does not count, but asking costs; so only where it may.
        let limit = options.max_rss_kb;
        let large = peak_kb.and_then(|peak| u64::try_from(peak).ok()).is_some_and(|p| p > limit);
        self.attempts >= options.max_attempts
            || (large && proc::rss_kb(self.pid).is_some_and(|now| now > limit))
    }

    /// Runs one attempt to its end. `midway` hears of an attempt whose tree cannot be killed;
    /// `stopped` says whether the attempt was asked to stop, and its worker with it.
    pub fn run(
        &mut self,
        job: &Job,
        host: &ProcessHost,
        options: &ProcessOptions,
        stopped: &dyn Fn() -> bool,
        midway: &mut dyn FnMut(Finished),
    ) -> Ran {
        let seen = ends::Seen { pid: self.pid, cpu_before_ms: self.cpu_total_ms };
        let sent = WireJob::of(job, host).map_err(io::Error::from);
        let wire = match sent {
            Ok(wire) => wire,
            Err(error) => {
                return Ran::Done(ends::no_worker(job, &format!("an input is damaged: {error}")));
            }
        };
        crash::at("give.before");
        if send(&self.data, &wire).is_err() {
            return Ran::NotBegun;
        }
        crash::at("give.after");
        self.attempts += 1;
        let mut log = |bytes: &[u8], stream: Stream| job.log.write(bytes, stream);
        let mut finished = None;
        let mut cut = false;
        let mut wait = None;
        loop {
            match self.listen(&mut log, wait) {
                Ok(News::Worker(FromWorker::Ready)) => {}
                Ok(News::Worker(FromWorker::Done(done))) => {
                    self.drain(&mut log, Some(()));
                    self.cpu_total_ms = done.cpu_total_ms;
                    if done.imported {
                        self.files.insert(host.file.clone(), host.version.clone());
                    }
                    let stopped = stopped();
                    if let Some(why) = done.spoilt.as_ref().filter(|_| !stopped) {
                        say_replaced(&job.log, why);
                    }
                    let spoilt = done.spoilt.is_some();
                    let done = ends::done(job, &seen, *done);
                    if !spoilt && !stopped {
                        return Ran::Done(done);
                    }
                    finished = Some(done);
                    self.ask_to_end(options.leftover_grace);
                }
                Ok(News::WorkerGone) if wait.is_none() => wait = Some(NEWS),
                Ok(News::WorkerGone | News::Nothing) => {
                    // It lives, but cannot be spoken to any more.
                    cut = finished.is_none() && !stopped();
                    self.ask_to_end(options.leftover_grace);
                    wait = Some(Duration::MAX);
                }
                Ok(News::Supervisor(FromSupervisor::Survivors { pids })) => {
                    midway(finished.take().unwrap_or_else(|| ends::survived(job, &seen, &pids)));
                }
                Ok(News::Supervisor(FromSupervisor::Dead { status })) => {
                    self.dead = Some(status);
                    self.drain(&mut log, None);
                    return Ran::Ended(match finished {
                        Some(finished) => finished,
                        None if cut || status.exit_code == Some(CUT) => {
                            ends::cut(job, &seen, &status)
                        }
                        None => ends::died(job, &seen, &status),
                    });
                }
                Ok(News::Supervisor(_)) => {}
                Ok(News::SupervisorGone) | Err(_) => {
                    let _ = self.supervisor.kill();
                    sweep_worker(&self.mark);
                    self.drain(&mut log, None);
                    return Ran::Ended(finished.unwrap_or_else(|| ends::lost(job, &seen)));
                }
            }
        }
    }

    fn ask_to_end(&self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.control.kill(grace_ms, None);
    }

    /// Ends the worker with all that came of it: in good order, after this time by force.
    pub fn end(mut self, grace: Duration) {
        let _ = rustix::net::shutdown(&self.data, rustix::net::Shutdown::Both);
        let watch = Stopwatch::start();
        let mut asked = false;
        while self.dead.is_none() {
            let left = if asked { watch.left_of(grace + LEAVE) } else { watch.left_of(grace) };
            if left.is_zero() {
                if asked {
                    break;
                }
                self.ask_to_end(Duration::ZERO);
                asked = true;
                continue;
            }
            match self.listen(&mut |_, _| {}, Some(left)) {
                Ok(News::Supervisor(FromSupervisor::Dead { status })) => self.dead = Some(status),
                Ok(News::SupervisorGone) | Err(_) => break,
                // Its end is awaited, not its word.
                Ok(_) => {}
            }
        }
        if self.dead.is_none() {
            let _ = self.supervisor.kill();
            sweep_worker(&self.mark);
        }
        // It ends by itself now, or was killed; the host language may have reaped it already.
        let _ = self.supervisor.wait();
    }

    /// Waits for news, and takes output meanwhile.
    fn listen(&mut self, log: Log<'_>, at_most: Option<Duration>) -> io::Result<News> {
        let timeout = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        loop {
            if let Some(message) = self.said.take()? {
                return Ok(News::Worker(message));
            }
            if let Some(message) = self.told.take()? {
                // What the worker said before it ended comes first.
                self.said.receive(&self.data, false)?;
                if let Some(said) = self.said.take()? {
                    self.told.put_back(&message)?;
                    return Ok(News::Worker(said));
                }
                return Ok(News::Supervisor(message));
            }
            if self.told.closed {
                return Ok(News::SupervisorGone);
            }
            let gone = self.said.closed;
            let mut fds = vec![
                PollFd::new(&*self.control, PollFlags::IN),
                PollFd::new(&self.out, PollFlags::IN),
                PollFd::new(&self.err, PollFlags::IN),
            ];
            if !gone {
                fds.push(PollFd::new(&self.data, PollFlags::IN));
            }
            match rustix::event::poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(News::Nothing),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let ready: Vec<bool> =
                fds.iter().map(|fd| fd.revents().intersects(PollFlags::IN)).collect();
            let hung: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            let mut some = false;
            if ready.get(1) == Some(&true) {
                some |= read(&self.out, Stream::Out, log, usize::MAX) > 0;
            }
            if ready.get(2) == Some(&true) {
                some |= read(&self.err, Stream::Err, log, usize::MAX) > 0;
            }
            if hung.get(3) == Some(&true) {
                self.said.receive(&self.data, false)?;
                if self.said.closed && !gone {
                    if let Some(message) = self.said.take()? {
                        return Ok(News::Worker(message));
                    }
                    return Ok(News::WorkerGone);
                }
                some = true;
            }
            if hung.first() == Some(&true) {
                self.told.receive(&*self.control, false)?;
                some = true;
            }
            if !some {
                // Only pipes that nobody can write to any more: the supervisor is on its way out.
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Takes what lies in the pipes: what is there now, or all that still comes.
    fn drain(&self, log: Log<'_>, now: Option<()>) {
        for (pipe, stream) in [(&self.out, Stream::Out), (&self.err, Stream::Err)] {
            let there = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
            let mut left = now.map_or(usize::MAX, |()| usize::try_from(there).unwrap_or(0));
            while left > 0 {
                match read(pipe, stream, log, left) {
                    0 => break,
                    read => left -= read,
                }
            }
        }
    }
}

/// Says in the log of an attempt what it did to its worker.
fn say_replaced(log: &LogSink, why: &str) {
    let note = format!("mainspring: this worker process is replaced: {why}\n");
    log.write(note.as_bytes(), Stream::Err);
}

/// Reads once, at most so many bytes; 0 where there is nothing.
fn read(pipe: &OwnedFd, stream: Stream, log: Log<'_>, at_most: usize) -> usize {
    let mut chunk = [0_u8; CHUNK];
    let into = at_most.min(chunk.len());
    let read = rustix::io::read(pipe, &mut chunk[..into]).unwrap_or(0);
    if read > 0 {
        log(&chunk[..read], stream);
    }
    read
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// A pipe whose reader does not wait.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let flags = rustix::fs::fcntl_getfl(&reader)?;
    rustix::fs::fcntl_setfl(&reader, flags | OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Hands a socket over another one.
fn give(over: BorrowedFd<'_>, socket: &OwnedFd) -> io::Result<()> {
    let sockets = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&sockets)) {
        let why = format!("socket {} cannot be handed over", socket.as_raw_fd());
        return Err(io::Error::other(why));
    }
    rustix::net::sendmsg(over, &[IoSlice::new(b"w")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
