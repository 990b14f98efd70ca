//! Files beside the database: logs, large results, locks. Paths are made of our own integer ids.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::log_place::LogOptions;
use crate::model::{RunId, TaskRunId};

/// Results up to this many bytes of JSON text stand in the row.
pub const INLINE_RESULT_LIMIT: usize = 256 * 1024;
/// Results up to this many bytes are kept in a file; larger ones are refused.
pub const RESULT_LIMIT: usize = 16 * 1024 * 1024;

/// Where the files of a database are: `mainspring.db` has them in `mainspring.files/`.
#[derive(Clone, Debug)]
pub struct Files {
    root: Arc<Path>,
    pub(super) logs: LogOptions,
    /// Whether everybody who uses the database on this host has the same ones.
    shared: bool,
}

impl Files {
    /// The files of this database.
    pub fn beside(database: &Path) -> Self {
        Files {
            root: database.with_extension("files").into(),
            logs: LogOptions::default(),
            shared: true,
        }
    }

    /// The same with what is to become of logs.
    #[must_use]
    pub fn with_logs(self, logs: LogOptions) -> Self {
        Files { logs, ..self }
    }

    /// The files of a database: in this folder, or else beside it.
    pub fn of(database: &Path, folder: Option<&Path>) -> Self {
        match folder {
            Some(folder) => {
                Files { root: folder.into(), logs: LogOptions::default(), shared: false }
            }
            None => Files::beside(database),
        }
    }

    /// Whether a file that is not there is nowhere on this host.
    pub fn are_shared(&self) -> bool {
        self.shared
    }

    /// The log of an attempt.
    pub fn log(&self, run: RunId, task_run: TaskRunId, attempt_no: u32) -> PathBuf {
        self.root.join("logs").join(run.to_string()).join(format!("{task_run}-{attempt_no}.log"))
    }

    /// Says that the log of an attempt is to be brought to a URI: `python/mainspring/_shipper.py`
    /// looks for these.
    pub fn log_mark(&self, run: RunId, task_run: TaskRunId, attempt_no: u32) -> PathBuf {
        self.root.join("logs").join("pending").join(format!("{run}-{task_run}-{attempt_no}"))
    }

    /// The lock that a node holds while it lives.
    pub fn lock(&self, node: i64) -> PathBuf {
        self.root.join("locks").join(format!("node-{node}.lock"))
    }

    /// Keeps a large result and returns where.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep_result(
        &self,
        run: RunId,
        task_run: TaskRunId,
        attempt_no: u32,
        text: &str,
    ) -> io::Result<String> {
        let folder = self.root.join("results").join(run.to_string());
        private_folder(&folder)?;
        let path = folder.join(format!("{task_run}-{attempt_no}.json"));
        // Durable before the row that names it.
        let mut file = fs::File::create(&path)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        Ok(path.to_string_lossy().into_owned())
    }
}

/// Makes a folder that only its owner can enter.
///
/// # Errors
/// Those of the file system.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
