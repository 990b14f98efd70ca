//! The tree below this process: ended as a whole, and reaped.

use std::collections::BTreeSet;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::proc::{self, Identity};

/// What lives below this process.
pub struct Tree {
    me: i32,
    /// The worker; its process group is the fallback where there is no `/proc`.
    worker: Pid,
    /// How the worker ended.
    pub end: Option<WaitStatus>,
    /// Those that were asked to end.
    asked: BTreeSet<Identity>,
}

impl Tree {
    /// The tree with this worker in it.
    pub fn new(worker: Pid) -> Self {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        Tree { me, worker, end: None, asked: BTreeSet::new() }
    }

    /// Adopts what becomes an orphan below this process from now on.
    ///
    /// # Errors
    /// That the kernel does not.
    pub fn adopt_orphans() -> std::io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(())
    }

    /// Takes note of those that have ended. False when nobody is left, of whatever generation:
    /// orphans come to this process, so it has a child as long as anybody lives.
    pub fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid == self.worker && !status.stopped() && !status.continued() {
                        self.end = Some(status);
                    }
                }
                Ok(None) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Asks those that were not asked yet.
    pub fn ask(&mut self) {
        for identity in self.living() {
            if self.asked.insert(identity) {
                send(identity, Signal::TERM);
                // One that was stopped would not hear it.
                send(identity, Signal::CONT);
            }
        }
        if self.asked.is_empty() && self.by_group() {
            let _ = rustix::process::kill_process_group(self.worker, Signal::TERM);
        }
    }

    /// Kills all there are now.
    pub fn kill(&mut self) {
        let living = self.living();
        for identity in &living {
            send(*identity, Signal::KILL);
        }
        if living.is_empty() && self.by_group() {
            let _ = rustix::process::kill_process_group(self.worker, Signal::KILL);
        }
    }

    /// Whether the worker's process group is all that is known of the tree. The number of a
    /// worker that was reaped may belong to somebody else.
    fn by_group(&self) -> bool {
        cfg!(not(any(target_os = "linux", target_os = "android"))) || self.end.is_none()
    }

    /// Those that live.
    pub fn living(&self) -> Vec<Identity> {
        proc::descendants(self.me)
    }
}

/// Sends a signal to this very process and to no later one of its number.
pub fn send(identity: Identity, signal: Signal) {
    let Some(pid) = Pid::from_raw(identity.pid) else { return };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let Ok(fd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
            return;
        };
        if proc::identity(identity.pid) == Some(identity) {
            // It may have ended meanwhile, or not be ours to signal: who asks looks again.
            let _ = rustix::process::pidfd_send_signal(&fd, signal);
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = rustix::process::kill_process(pid, signal);
}
