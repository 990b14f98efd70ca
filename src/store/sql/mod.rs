//! What stores in SQL have in common: their texts lie beside this file, and in `body` what is done
//! with them, which each dialect has stamped for itself.

use std::path::Path;
use std::time::Duration;

use super::{HistoryAsk, Store, StoreError, TakeCells};
use crate::model::{NodeRow, ScopeId};

/// A value in an answer or in a question.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text; bytes are shown as hexadecimal text.
    Text(String),
}

/// An answer: names of the columns, and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<SqlValue>>,
}

/// How a database is opened, whatever it is.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// How long to wait for another process that writes before giving up.
    pub busy_wait: Duration,
    /// Whether a commit survives the machine going down, and not only this process.
    pub durable: bool,
    /// Whether a schema is made on a server that has none. A file is made in any case.
    pub make: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { busy_wait: Duration::from_secs(120), durable: true, make: true }
    }
}

/// What a place of a database is.
enum Kind {
    #[cfg(feature = "sqlite")]
    File,
    #[cfg(feature = "postgres")]
    Server,
}

fn kind(database: &str) -> Result<Kind, StoreError> {
    #[cfg(feature = "postgres")]
    if super::PostgresStore::is_address(database) {
        return Ok(Kind::Server);
    }
    let refuse = |reason: String| {
        let hint = "name a file, or postgresql://user:password@host:5432/database".to_owned();
        Err(StoreError::Open { path: shown(database), reason, hint })
    };
    match database.split_once("://") {
        Some((scheme, _)) => {
            refuse(format!("this build knows no databases of the kind `{scheme}`"))
        }
        #[cfg(feature = "sqlite")]
        None => Ok(Kind::File),
        #[cfg(not(feature = "sqlite"))]
        None => refuse("this build keeps nothing in files".into()),
    }
}

/// The place of a database as it may be shown: without a password.
pub fn shown(database: &str) -> String {
    #[cfg(feature = "postgres")]
    if database.contains("://") {
        return super::PostgresStore::shown(database);
    }
    match database.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://..."),
        None => database.to_owned(),
    }
}

/// Whether a database is on a server, and not in a file beside which there is room for others.
pub fn is_server(database: &Path) -> bool {
    database.to_string_lossy().contains("://")
}

/// Opens a database: a file, or a URL.
///
/// # Errors
/// `StoreError` that says what is wrong with it.
pub fn open(database: &Path, options: OpenOptions) -> Result<Box<dyn SqlStore>, StoreError> {
    let OpenOptions { busy_wait, durable, make } = options;
    #[cfg(not(feature = "postgres"))]
    let _ = make;
    Ok(match kind(&database.to_string_lossy())? {
        #[cfg(feature = "sqlite")]
        Kind::File => {
            let options = super::SqliteOptions { busy_wait, durable, read_only: false };
            Box::new(super::SqliteStore::open(database, options)?)
        }
        #[cfg(feature = "postgres")]
        Kind::Server => {
            let options = super::PostgresOptions { busy_wait, durable, make, read_only: false };
            Box::new(super::PostgresStore::open(&database.to_string_lossy(), options)?)
        }
    })
}

/// Brings a database to the newest schema: the schema before (0 where there was none) and the schema
/// now.
///
/// # Errors
/// As [`open`].
pub fn migrate(database: &Path) -> Result<(i64, i64), StoreError> {
    match kind(&database.to_string_lossy())? {
        #[cfg(feature = "sqlite")]
        Kind::File => super::SqliteStore::migrate(database),
        #[cfg(feature = "postgres")]
        Kind::Server => super::PostgresStore::migrate(&database.to_string_lossy()),
    }
}

/// A store that answers questions which people ask, in SQL or of the whole history.
pub trait SqlStore: Store {
    /// Answers one statement that only reads.
    ///
    /// # Errors
    /// `StoreError::Writes` where it would write; `Other` with what the database says of the text.
    fn ask(&mut self, text: &str, parameters: &[SqlValue]) -> Result<Table, StoreError>;

    /// Hands over what is asked for of the history, newest first, all of one snapshot;
    /// [`read_history`](super::read_history) is the way to ask.
    ///
    /// # Errors
    /// The store's own.
    fn tell_history(
        &mut self,
        ask: &HistoryAsk,
        taker: &mut dyn TakeCells,
    ) -> Result<(), StoreError>;

    /// Scopes with open runs, with the process that holds each.
    ///
    /// # Errors
    /// The store's own.
    fn open_scopes(&mut self) -> Result<Vec<(ScopeId, Option<NodeRow>)>, StoreError>;
}
