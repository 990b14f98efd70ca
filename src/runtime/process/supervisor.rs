//! The supervisor: a process of one thread between the scheduler and a worker.
//!
//! It is what the kernel calls a subreaper: whoever is orphaned below it becomes its child, with a
//! session of its own or not. So "nobody is left" is the same as "I have no children", and nothing
//! escapes by `setsid` or by forking twice. Only who makes another process act for it (a service
//! manager, a container engine) gets out of the tree.

use std::ffi::{CString, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::Pid;
use rustix::stdio::stdin;

use super::frames::{Inbox, send};
use super::tree::Tree;
use super::wire::{DeathCertificate, FromSupervisor, ToSupervisor};
use crate::model::StopReason;
use crate::runtime::clock::Stopwatch;
use crate::runtime::crash;

/// What a tree has when nobody is there any more who could say more.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);
/// What the descendants of a worker have that ended by itself.
const LEFT_GRACE: Duration = Duration::from_millis(500);
/// After this time of being killed a process counts as one that cannot be.
const STUBBORN: Duration = Duration::from_secs(5);
/// How often orphans that have ended are reaped while nothing happens.
const REAP: Duration = Duration::from_secs(5);
/// How often a tree that is to end is looked at: at first, and at last.
const LOOK: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// How a worker ended; nothing of its tree is left.
#[derive(Clone, Copy, Debug)]
pub struct Ended(DeathCertificate);

/// Lives the life of a supervisor: starts the worker, and returns when its tree has ended. Its
/// standard input is the socket to the scheduler, its output and errors are the worker's.
/// None where the worker could not be started.
///
/// # Errors
/// That this process cannot be what it should be.
pub fn supervise(worker: &[OsString]) -> io::Result<Option<Ended>> {
    let control = stdin();
    let scheduler = rustix::process::getppid();
    // Signals from a terminal are meant for the scheduler, which knows what to do.
    let _ = rustix::process::setsid();
    Tree::adopt_orphans()?;
    let Some(data) = receive_socket()? else { return Ok(None) };
    let [program, arguments @ ..] = worker else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no worker to be started"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(data)).process_group(0);
    crash::at("worker.before");
    let pid = match command.spawn() {
        Ok(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw),
        Err(error) => {
            let why = format!("{}: {error}", program.to_string_lossy());
            send(control, &FromSupervisor::NotStarted { why })?;
            return Ok(None);
        }
    };
    crash::at("worker.after");
    // The command holds our end of the worker's socket.
    drop(command);
    let Some(pid) = pid else { return Ok(None) };
    let started = send(control, &FromSupervisor::Started { pid: pid.as_raw_nonzero().get() });
    let mut watch = Watch {
        tree: Tree::new(pid),
        worker: open_pid(Some(pid)),
        scheduler: open_pid(scheduler),
        inbox: Inbox::default(),
        killing: None,
        asked: false,
        alone: started.is_err() || rustix::process::getppid() != scheduler,
    };
    watch.until_nobody_is_left();
    let end = watch.tree.end;
    Ok(Some(Ended(DeathCertificate {
        exit_code: end.and_then(|status| status.exit_status()),
        signal: end.and_then(|status| status.terminating_signal()),
        asked: watch.asked,
        ..DeathCertificate::default()
    })))
}

/// Tells the scheduler of the end, and what was used on the way.
///
/// # Errors
/// Those of the socket: nobody is left to be told.
pub fn report_end(ended: Ended, cpu_ms: i64, max_rss_kb: i64) -> io::Result<()> {
    let status = DeathCertificate { cpu_ms: Some(cpu_ms), max_rss_kb: Some(max_rss_kb), ..ended.0 };
    crash::at("dead.before");
    send(stdin(), &FromSupervisor::Dead { status })?;
    crash::at("dead.after");
    Ok(())
}

/// The socket of the worker, which comes through the one to the scheduler.
fn receive_socket() -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut into = [IoSliceMut::new(&mut byte)];
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let flags = RecvFlags::empty();
    rustix::net::recvmsg(stdin(), &mut into, &mut ancillary, flags)?;
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    }))
}

fn open_pid(pid: Option<Pid>) -> Option<OwnedFd> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return rustix::process::pidfd_open(pid?, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return pid.and(None);
}

struct Watch {
    tree: Tree,
    /// Readable when the worker has ended.
    worker: Option<OwnedFd>,
    /// Readable when the scheduler has ended. The socket alone does not tell: whoever the
    /// scheduler forked may hold a copy of its end.
    scheduler: Option<OwnedFd>,
    inbox: Inbox,
    killing: Option<Killing>,
    /// The scheduler asked for the end while the worker lived.
    asked: bool,
    /// The scheduler is gone.
    alone: bool,
}

/// A tree that is being ended.
struct Killing {
    began: Stopwatch,
    /// How long before it is done by force.
    grace: Duration,
    /// How long until the next look.
    look: Duration,
    told: bool,
}

impl Watch {
    fn until_nobody_is_left(&mut self) {
        loop {
            let anybody = self.tree.reap();
            if self.tree.end.is_some() {
                self.worker = None;
                self.end_within(LEFT_GRACE);
            }
            if !anybody {
                return;
            }
            if self.alone {
                self.end_within(ORPHAN_GRACE);
            }
            let wait = self.go_on_killing().unwrap_or(REAP);
            self.listen(wait);
        }
    }

    /// Ends the tree, unless that is under way and will be sooner.
    fn end_within(&mut self, grace: Duration) {
        match &mut self.killing {
            None => {
                let began = Stopwatch::start();
                self.killing = Some(Killing { began, grace, look: LOOK.0, told: false });
            }
            Some(killing) => {
                killing.grace = killing.grace.min(killing.began.elapsed().saturating_add(grace));
            }
        }
    }

    /// One step; how long to wait before the next.
    fn go_on_killing(&mut self) -> Option<Duration> {
        let killing = self.killing.as_mut()?;
        let elapsed = killing.began.elapsed();
        if elapsed < killing.grace {
            crash::at("term.before");
            self.tree.ask();
            crash::at("term.after");
        } else {
            crash::at("sigkill.before");
            self.tree.kill();
            crash::at("sigkill.after");
            if elapsed > killing.grace + STUBBORN && !killing.told {
                killing.told = true;
                let pids = self.tree.living().iter().map(|identity| identity.pid).collect();
                self.alone |= send(stdin(), &FromSupervisor::Survivors { pids }).is_err();
            }
        }
        killing.look = (killing.look * 2).min(if killing.told { REAP } else { LOOK.1 });
        let left = killing.began.left_of(killing.grace);
        Some(if left.is_zero() { killing.look } else { killing.look.min(left) })
    }

    /// Waits for news.
    fn listen(&mut self, at_most: Duration) {
        let control = stdin();
        let mut fds = Vec::with_capacity(3);
        if !self.alone {
            fds.push(PollFd::from_borrowed_fd(control, PollFlags::IN));
            fds.extend(self.scheduler.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        }
        let at_worker = fds.len();
        fds.extend(self.worker.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let timeout = Timespec::try_from(at_most).ok();
        // Interrupted or not: whatever there is to be seen is looked at.
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if self.alone {
            return;
        }
        // Who has ended has not been ended by what is only now being read.
        self.tree.reap();
        if self.scheduler.is_some() && at_worker > 1 && ready.get(1) == Some(&true) {
            self.alone = true;
        }
        if ready.first() == Some(&true) {
            self.alone |= self.inbox.receive(control.as_fd(), false).is_err();
        }
        loop {
            match self.inbox.take() {
                Ok(Some(ToSupervisor::Kill { grace_ms, reason })) => {
                    self.asked |= self.tree.end.is_none();
                    if let Some(reason) = reason {
                        show(reason);
                    }
                    self.end_within(Duration::from_millis(grace_ms));
                }
                Ok(None) => break,
                Err(_) => {
                    self.alone = true;
                    break;
                }
            }
        }
        self.alone |= self.inbox.closed;
    }
}

/// What the name of a supervisor begins with when it ends its tree for a reason.
pub(super) const REASON: &str = "ms-stop:";

/// Shows the reason where the worker can read it without asking anybody: in our own name.
fn show(reason: StopReason) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Ok(name) = CString::new(format!("{REASON}{}", short(reason))) {
        let _ = rustix::thread::set_name(&name);
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = (reason, CString::default());
}

/// A reason in at most seven letters: a name has fifteen.
pub(super) fn short(reason: StopReason) -> &'static str {
    let word = reason.as_str();
    word.get(..7).unwrap_or(word)
}
