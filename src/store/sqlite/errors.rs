//! From what SQLite says to what a user can do about it.

use rusqlite::ffi::{self, ErrorCode};

use crate::model::SpecError;
use crate::store::{CommitError, StoreError};

/// Why work inside a transaction stopped; becomes a `StoreError` or `CommitError` once the file's
/// name is at hand.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Store(StoreError),
    Commit(CommitError),
}

impl Fault {
    /// The same, said of something, where it is about one row.
    pub(super) fn of(self, what: &str) -> Fault {
        match self {
            Fault::Store(error) => Fault::Store(error.of(what)),
            other => other,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        Fault::Commit(error)
    }
}

impl From<SpecError> for Fault {
    fn from(error: SpecError) -> Self {
        Fault::Store(StoreError::Refused(error))
    }
}

/// What an error of SQLite means is seen against the file and how long we waited for it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub path: String,
    pub wait_seconds: u64,
}

impl Place {
    pub(super) fn store(&self, fault: impl Into<Fault>) -> StoreError {
        match fault.into() {
            Fault::Sql(error) => self.sql(error),
            Fault::Store(error) | Fault::Commit(CommitError::Store(error)) => error,
            Fault::Commit(error) => StoreError::Other(error.to_string()),
        }
    }

    pub(super) fn commit(&self, fault: Fault) -> CommitError {
        match fault {
            Fault::Commit(error) => error,
            other => CommitError::Store(self.store(other)),
        }
    }

    fn sql(&self, error: rusqlite::Error) -> StoreError {
        let path = self.path.clone();
        let rusqlite::Error::SqliteFailure(code, text) = &error else {
            return match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..) => {
                    StoreError::Unreadable(format!("a stored row cannot be read: {error}"))
                }
                other => StoreError::Other(other.to_string()),
            };
        };
        let reason = text.clone().unwrap_or_else(|| ffi::code_to_str(code.extended_code).into());
        let write = |hint: &str| StoreError::Write {
            path: path.clone(),
            reason: reason.clone(),
            hint: hint.into(),
        };
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                StoreError::Busy { path, seconds: self.wait_seconds }
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                StoreError::Corrupt { path, reason }
            }
            ErrorCode::DiskFull => {
                write("make room on the disk and go on; nothing of the last step was written")
            }
            ErrorCode::ReadOnly => {
                write("make the file and its directory writable for this user, or name another")
            }
            ErrorCode::SystemIoFailure => {
                write("look at the disk and its mount; nothing of the last step was written")
            }
            ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
                write("make the file and its directory writable for this user, or name another")
            }
            ErrorCode::CannotOpen => StoreError::Open {
                path,
                reason,
                hint: "see that its directory exists and is writable".into(),
            },
            _ => StoreError::Other(format!("{reason} ({path})")),
        }
    }
}
