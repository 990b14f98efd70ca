//! The store in one SQLite file.
//!
//! Driven by rusqlite, on the thread that asks: a statement costs microseconds, and a hop to
//! another thread would cost more than all else. Write-ahead log, so readers and the one writer
//! do not wait for each other; every write transaction takes the lock at its beginning, so that it
//! waits there and never fails in its middle.

mod client;
mod commit;
mod errors;
mod migrate;
mod open;
mod places;
mod sql;
mod upgrade;

// What both dialects of SQL do by the same statements, stamped for this one: `super::client` in
// these files is ours.
#[path = "../sql/body/backfills.rs"]
mod backfills;
#[path = "../sql/body/door.rs"]
mod door;
#[path = "../sql/body/history.rs"]
mod history;
#[path = "../sql/body/past.rs"]
mod past;
#[path = "../sql/body/read.rs"]
mod read;
#[path = "../sql/body/register.rs"]
mod register;
#[path = "../sql/body/register_rows.rs"]
mod register_rows;
#[path = "../sql/body/releases.rs"]
mod releases;
#[path = "../sql/body/requests.rs"]
mod requests;
#[path = "../sql/body/rows.rs"]
mod rows;
#[path = "../sql/body/schedule_rows.rs"]
mod schedule_rows;
#[path = "../sql/body/schedules.rs"]
mod schedules;
#[path = "../sql/body/scopes.rs"]
mod scopes;
#[path = "../sql/body/upstreams.rs"]
mod upstreams;
#[path = "../sql/body/verify.rs"]
mod verify;

use std::cell::Cell;
use std::path::Path;

use rusqlite::Connection;

use open::Identities;
pub use open::SqliteOptions;

use self::errors::{Fault, Place};
use super::texts::sqlite as texts;
use super::{Batch, StoreError};

/// The store of this dialect.
type Here = SqliteStore;

/// A store in a SQLite file. Used by one thread; another thread opens its own.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    place: Place,
    files: Cell<Identities>,
    /// SQLite's number of what others wrote, when it was looked at last.
    data_version: Cell<Option<i64>>,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings it up to date.
    ///
    /// `:memory:` is a store of its own that is gone with this value.
    ///
    /// # Errors
    /// `StoreError` that says what the path is instead of a database of ours; nothing in it was
    /// changed then.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let (conn, place) = open::open(path.as_ref(), options)?;
        let files = Cell::new(Identities::of(&place));
        Ok(SqliteStore { conn, place, files, data_version: Cell::new(None) })
    }

    /// The connection, for tests that break things on purpose and for questions in SQL.
    #[doc(hidden)]
    pub fn connection(&self) -> &Connection {
        &self.conn
    }

    /// One write transaction, all or nothing.
    fn change<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, crate::store::CommitError> {
        self.write(work).map_err(|fault| self.place.commit(fault))
    }

    fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        self.transaction("BEGIN IMMEDIATE", work)
    }

    /// Several questions of one snapshot.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.transaction("BEGIN", work).map_err(|fault| self.place.store(fault))
    }

    fn transaction<T>(
        &self,
        begin: &str,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut files = self.files.get();
        files.check(&self.place)?;
        self.files.set(files);
        self.conn.prepare_cached(begin)?.execute([])?;
        let done = work(&self.conn).and_then(|value| {
            self.conn.prepare_cached("COMMIT")?.execute([])?;
            Ok(value)
        });
        // SQLite has rolled back by itself after some errors, such as a full disk.
        if done.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Whether SQLite's number of what other connections wrote has moved.
    fn has_changed(&self) -> Result<bool, Fault> {
        let version = self.conn.pragma_query_value(None, "data_version", |row| row.get(0))?;
        Ok(self.data_version.replace(Some(version)) != Some(version))
    }

    fn write_batch(&self, batch: &Batch) -> Result<(), Fault> {
        self.write(|conn| commit::commit(conn, batch))
    }
}
