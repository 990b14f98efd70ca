//! From an empty file, or an older schema, to ours.

use rusqlite::Connection;

use super::errors::Fault;
use crate::store::StoreError;
use crate::store::stamp::stamp;

/// Marks our files: `mspr`.
pub(super) const APPLICATION_ID: i64 = 0x6d73_7072;

/// In order; the schema's number is how many were applied. What was released never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/sqlite/0001_init.sql"),
    include_str!("../migrations/sqlite/0002_views.sql"),
    include_str!("../migrations/sqlite/0003_schedules.sql"),
    include_str!("../migrations/sqlite/0004_releases.sql"),
    include_str!("../migrations/sqlite/0005_upstreams.sql"),
    include_str!("../migrations/sqlite/0006_limits.sql"),
    include_str!("../migrations/sqlite/0007_items.sql"),
    include_str!("../migrations/sqlite/0008_polls.sql"),
    include_str!("../migrations/sqlite/0009_backfills.sql"),
    include_str!("../migrations/sqlite/0010_fingerprints.sql"),
];

/// The newest schema this version knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// What a file says of itself.
pub(super) struct Identity {
    pub application_id: i64,
    pub schema: i64,
    pub tables: i64,
}

impl Identity {
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        Ok(Identity {
            application_id: conn.pragma_query_value(None, "application_id", |row| row.get(0))?,
            schema: conn.pragma_query_value(None, "user_version", |row| row.get(0))?,
            tables: conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        })
    }

    fn is_empty(&self) -> bool {
        self.application_id == 0 && self.schema == 0 && self.tables == 0
    }

    /// Refuses what is not ours, and what is ours but newer than we are.
    pub(super) fn check(&self, path: &str) -> Result<(), StoreError> {
        if self.is_empty() {
            return Ok(());
        }
        if self.application_id != APPLICATION_ID {
            let reason = format!(
                "it is a SQLite database of another program (application id {:#x}; tables \
                 and indexes: {})",
                self.application_id, self.tables
            );
            return Err(StoreError::Foreign { path: path.into(), reason });
        }
        if self.schema > NEWEST {
            return Err(StoreError::Newer { path: path.into(), found: self.schema, known: NEWEST });
        }
        Ok(())
    }

    pub(super) fn is_current(&self) -> bool {
        self.application_id == APPLICATION_ID && self.schema == NEWEST
    }
}

/// Applies what is missing; the caller holds the write lock, and commits.
pub(super) fn migrate(conn: &Connection, path: &str) -> Result<(), Fault> {
    // Read again under the lock: another process may have done it meanwhile.
    let identity = Identity::read(conn)?;
    identity.check(path)?;
    let done = usize::try_from(identity.schema).unwrap_or(0);
    for text in MIGRATIONS.iter().skip(done) {
        conn.execute_batch(&stamp(text))?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", NEWEST)?;
    Ok(())
}
