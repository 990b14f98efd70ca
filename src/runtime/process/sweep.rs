//! Strays: processes of a worker whose supervisor was killed, found by a mark in the environment
//! that they were started with.

use std::time::Duration;

use rustix::process::Signal;

use super::proc::{self, Identity};
use super::tree::send;
use crate::runtime::clock::Stopwatch;

/// The variable that carries the mark.
pub const MARK: &str = "MAINSPRING_WORKER";

/// How long strays are killed before they are left alone.
const AT_MOST: Duration = Duration::from_secs(5);
/// So many looks must find nobody: one that is about to run another program has no environment
/// for a moment.
const LOOKS: u32 = 3;
const LOOK: Duration = Duration::from_millis(10);

/// The mark of a worker of this scheduler: `pid.started.number`.
pub fn mark(number: u64) -> String {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let started = proc::identity(pid).map_or(0, |identity| identity.started);
    format!("{pid}.{started}.{number}")
}

/// Kills what is left of the worker with this mark. False when something lives on.
pub fn sweep_worker(mark: &str) -> bool {
    sweep(|found| found == mark)
}

/// Kills what is left of workers whose scheduler is gone.
pub fn sweep_orphans() -> bool {
    sweep(|found| {
        let mut parts = found.split('.');
        let pid = parts.next().and_then(|pid| pid.parse().ok());
        let started = parts.next().and_then(|started| started.parse().ok());
        let (Some(pid), Some(started)) = (pid, started) else { return false };
        proc::identity(pid) != Some(Identity { pid, started })
    })
}

fn sweep(is_stray: impl Fn(&str) -> bool) -> bool {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let watch = Stopwatch::start();
    let mut clean = 0;
    loop {
        let strays: Vec<Identity> = proc::all()
            .into_iter()
            .filter(|pid| *pid != me)
            .filter(|pid| proc::started_with(*pid, MARK).is_some_and(|mark| is_stray(&mark)))
            .filter_map(proc::identity)
            .collect();
        if strays.is_empty() {
            clean += 1;
            if clean == LOOKS {
                return true;
            }
        } else {
            clean = 0;
        }
        if watch.elapsed() > AT_MOST {
            return false;
        }
        for stray in strays {
            send(stray, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}
