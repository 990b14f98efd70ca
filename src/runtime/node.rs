//! Whether a process is alive: each holds a lock on a file of its own for as long as it lives.
//!
//! The operating system lets go of the lock when the process ends, however it ends, so a run
//! whose process was killed can be taken up at once and not only when a lease has run out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;

use super::files::{Files, private_folder};
use crate::model::{Instant, NodeRow};

/// How long a process is believed to live after its last sign of life, in milliseconds.
pub const LEASE_MS: i64 = 15_000;
/// How often it gives one, in milliseconds.
pub const HEARTBEAT_MS: i64 = 5_000;

/// The lock of this process; gone when dropped.
pub struct NodeLock {
    _file: File,
    path: std::path::PathBuf,
}

impl NodeLock {
    /// Takes the lock of the node with this id.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn take(files: &Files, node: i64) -> io::Result<NodeLock> {
        let path = files.lock(node);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.lock()?;
        Ok(NodeLock { _file: file, path })
    }
}

impl Drop for NodeLock {
    fn drop(&mut self) {
        // Best effort: a lock file that stays is harmless, nobody holds it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the process behind a node lives: by its lock where that can be read on this host, by
/// its lease elsewhere.
pub fn is_alive(files: &Files, node: &NodeRow, host: &str, now: Instant) -> bool {
    if node.stopped_at.is_some() {
        return false;
    }
    if node.host != host {
        return node.lease_until > now;
    }
    match OpenOptions::new().write(true).open(files.lock(node.id.0)) {
        Ok(file) => match file.try_lock() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => node.lease_until > now,
        },
        // Its file is gone: it left, or never came further than its row.
        Err(error) if error.kind() == io::ErrorKind::NotFound && files.are_shared() => false,
        Err(_) => node.lease_until > now,
    }
}

/// The name of this host, as far as the operating system tells it without asking the network.
pub fn host_name() -> String {
    let read = |path| std::fs::read_to_string(path).ok();
    read("/proc/sys/kernel/hostname")
        .or_else(|| read("/etc/hostname"))
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}
