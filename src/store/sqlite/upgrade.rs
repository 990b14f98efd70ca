//! Bringing a file up to date on request, and saying what that did.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::migrate::NEWEST;
use super::{SqliteOptions, SqliteStore};
use crate::store::StoreError;

impl SqliteStore {
    /// Brings a database to the newest schema: the schema before (0 where there was no file) and
    /// the schema now. Opening does the same; this says so.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`].
    pub fn migrate(path: impl AsRef<Path>) -> Result<(i64, i64), StoreError> {
        let path = path.as_ref();
        let before = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .and_then(|conn| conn.pragma_query_value(None, "user_version", |row| row.get(0)));
        // What cannot be read is explained by opening it in earnest.
        SqliteStore::open(path, SqliteOptions::default())?;
        Ok((before.unwrap_or(0), NEWEST))
    }
}
