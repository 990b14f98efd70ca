//! The way by which a supervisor is asked to end its tree.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Signal;

use super::frames::send_now;
use super::proc::{self, Identity};
use super::tree;
use super::wire::ToSupervisor;
use crate::model::StopReason;
use crate::runtime::crash;

/// The socket of a supervisor, and who that is.
pub struct Control {
    socket: OwnedFd,
    supervisor: Option<Identity>,
}

impl Control {
    /// To the supervisor with this process id.
    pub fn new(socket: OwnedFd, supervisor: u32) -> Control {
        let pid = i32::try_from(supervisor).ok();
        Control { socket, supervisor: pid.and_then(proc::identity) }
    }

    /// Asks for the end of the tree within this time, without waiting.
    pub fn kill(&self, grace_ms: u64, reason: Option<StopReason>) {
        crash::at("kill.before");
        // A supervisor that cannot be asked is gone, which is heard.
        let _ = send_now(&self.socket, &ToSupervisor::Kill { grace_ms, reason });
        if let Some(supervisor) = self.supervisor {
            // One that was stopped would not hear it.
            tree::send(supervisor, Signal::CONT);
        }
        crash::at("kill.after");
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
