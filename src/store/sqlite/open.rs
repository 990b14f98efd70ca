//! Opening a file so that nobody is surprised: checked before anything in it changes.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::errors::{Fault, Place};
use super::migrate::{self, Identity};
use crate::store::StoreError;

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// How long to wait for another process that holds the write lock before giving up.
    pub busy_wait: Duration,
    /// Only questions; the file must exist.
    pub read_only: bool,
    /// Whether a commit survives the machine going down, and not only this process.
    pub durable: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        SqliteOptions { busy_wait: Duration::from_secs(120), read_only: false, durable: true }
    }
}

/// Statements kept ready; there are fewer than that.
const STATEMENTS: usize = 128;

pub(super) fn open(path: &Path, options: SqliteOptions) -> Result<(Connection, Place), StoreError> {
    let name = path.display().to_string();
    let place = Place { path: name, wait_seconds: options.busy_wait.as_secs() };
    let in_memory = place.path == ":memory:";
    if !in_memory {
        look(path, options.read_only, &place)?;
    }
    let access = if options.read_only {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
    };
    let mut conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| cannot_open(&place, &error.to_string(), hint_of_open()))?;
    wait_patiently(&mut conn, options.busy_wait).map_err(|error| place.store(error))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Before anything is changed: whose is it, and can we read it?
    let identity = Identity::read(&conn).map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) if !begins_as_ours(path) => {
            let reason = "it is not a SQLite database".to_owned();
            StoreError::Foreign { path: place.path.clone(), reason }
        }
        _ => place.store(error),
    })?;
    identity.check(&place.path)?;
    set_up(&conn, &identity, options, &place).map_err(|fault| place.store(fault))?;
    Ok((conn, place))
}

fn set_up(
    conn: &Connection,
    identity: &Identity,
    options: SqliteOptions,
    place: &Place,
) -> Result<(), Fault> {
    // 16 MiB of pages: the ends of all indexes of history, which each batch touches.
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16384;")?;
    conn.pragma_update(None, "synchronous", if options.durable { "FULL" } else { "OFF" })?;
    if options.read_only {
        if !identity.is_current() {
            return Err(Fault::Store(StoreError::Open {
                path: place.path.clone(),
                reason: format!(
                    "it has schema {}, we read schema {}",
                    identity.schema,
                    migrate::NEWEST
                ),
                hint: "open it once for writing, so that it is brought up to date".into(),
            }));
        }
        return Ok(());
    }
    use_wal(conn, options.busy_wait)?;
    if !identity.is_current() {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let done = migrate::migrate(conn, &place.path)
            .and_then(|()| conn.execute_batch("COMMIT").map_err(Fault::from));
        if done.is_err() && !conn.is_autocommit() {
            conn.execute_batch("ROLLBACK")?;
        }
        done?;
    }
    Ok(())
}

/// The delay before asking for the lock again: short first, so that a commit of another process
/// (a few ms) costs about as long as it takes.
fn delay(tries: u32) -> Duration {
    Duration::from_millis(u64::from(tries / 4 + 1).min(20))
}

/// Every lock is waited for, so that nobody ever reads "database is locked".
fn wait_patiently(conn: &mut Connection, longest: Duration) -> rusqlite::Result<()> {
    let mut waited = Duration::ZERO;
    conn.busy_handler(Some(move |tries: i32| {
        if tries == 0 {
            waited = Duration::ZERO;
        }
        if waited >= longest {
            return false;
        }
        let step = delay(u32::try_from(tries).unwrap_or(0)).min(longest - waited);
        std::thread::sleep(step);
        waited += step;
        true
    }))
}

/// The switch to WAL does not ask the busy handler in every race of two processes that open a new
/// file at once, so it is tried again here.
fn use_wal(conn: &Connection, longest: Duration) -> rusqlite::Result<()> {
    let mut waited = Duration::ZERO;
    for tries in 0.. {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            // An in-memory database stays `memory`.
            Ok(mode) if mode == "wal" || mode == "memory" => return Ok(()),
            Err(error)
                if !matches!(
                    error.sqlite_error_code(),
                    Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
                ) || waited >= longest =>
            {
                return Err(error);
            }
            // Some other mode: a file system without shared memory; journals are slower, not wrong.
            Ok(_) if waited >= Duration::from_secs(1).min(longest) => return Ok(()),
            _ => {}
        }
        std::thread::sleep(delay(tries));
        waited += delay(tries);
    }
    Ok(())
}

/// What can be said about a path before SQLite sees it; makes the file and its directory, which
/// are nobody else's business.
///
/// Never opens a file that is there: closing it again would drop the locks that this process holds
/// on it by other connections, and the next process to close its own would take the write-ahead
/// log away under us.
fn look(path: &Path, read_only: bool, place: &Place) -> Result<(), StoreError> {
    let refuse = |reason: &str, hint: &str| Err(cannot_open(place, reason, hint));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return refuse("it is a directory", "name a file, such as mainspring.db inside it");
        }
        Ok(found) if !found.is_file() => {
            return refuse("it is not a plain file", "name a file");
        }
        Ok(found) if found.len() == 0 => {}
        Ok(found) => {
            if !read_only && found.permissions().readonly() {
                return refuse("the file is read-only", "make it writable, or name another file");
            }
            return Ok(());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if read_only {
                return refuse(
                    "there is no such file",
                    "it is made by the first run; check the path",
                );
            }
        }
        Err(error) => return refuse(&error.to_string(), hint_of_open()),
    }
    make(path).or_else(|error| refuse(&error.to_string(), hint_of_open()))
}

/// Whether a file that SQLite does not read begins like one all the same. Nobody has locks on such
/// a file, so that opening it does no harm.
fn begins_as_ours(path: &Path) -> bool {
    let mut head = [0u8; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"SQLite format 3\0")
}

fn hint_of_open() -> &'static str {
    "make its directory writable for this user, or name another file"
}

fn cannot_open(place: &Place, reason: &str, hint: &str) -> StoreError {
    StoreError::Open { path: place.path.clone(), reason: reason.into(), hint: hint.into() }
}

/// Results and parameters may be confidential: only the owner reads them.
fn make(path: &Path) -> std::io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(parent)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        // Another process was quicker.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Which files a connection has open, as far as the platform can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identities {
    database: Option<(u64, u64)>,
    log: Option<(u64, u64)>,
}

impl Identities {
    pub(super) fn of(place: &Place) -> Identities {
        Identities {
            database: identity(&place.path),
            log: identity(&format!("{}-wal", place.path)),
        }
    }

    /// Refuses to go on where the files at this path are not those that were opened: what is
    /// written to files that were deleted is lost without a word.
    pub(super) fn check(&mut self, place: &Place) -> Result<(), StoreError> {
        let now = Identities::of(place);
        if self.log.is_none() {
            self.log = now.log;
        }
        if *self == now {
            return Ok(());
        }
        let reason = match now.database {
            None => "it was deleted or moved away while it was open",
            Some(_) if now.database != self.database => "another file was put in its place",
            Some(_) => {
                "its write-ahead log was taken away: another SQLite library in this process (such \
                 as Python's sqlite3) opened the file and closed it"
            }
        };
        let hint = "nothing is written any more; start this process anew, and read the database \
                    from other processes only";
        Err(cannot_open(place, reason, hint))
    }
}

#[cfg(unix)]
fn identity(path: &str) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &str) -> Option<(u64, u64)> {
    None
}
