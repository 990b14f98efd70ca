//! From what the server says, or does not say, to what a user can do about it.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

use super::client;
use crate::model::SpecError;
use crate::store::{CommitError, StoreError};

/// Why work inside a transaction stopped; becomes a `StoreError` or `CommitError` once the
/// database's name is at hand.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(client::Error),
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

    /// Whether there is nobody to talk to, or nobody who may write.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Fault::Sql(client::Error::Gone(_)) | Fault::Store(StoreError::Away { .. }) => true,
            Fault::Sql(client::Error::Server(error)) => error.code().is_some_and(is_away),
            _ => false,
        }
    }
}

impl From<client::Error> for Fault {
    fn from(error: client::Error) -> Self {
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

/// Whether the server goes, comes, or is a standby: time may help, and another connection.
fn is_away(code: &SqlState) -> bool {
    let code = code.code();
    code.starts_with("08") || ["57P01", "57P02", "57P03", "57P05", "25006", "53300"].contains(&code)
}

/// An error with its causes: the client's own texts say only where it happened.
pub(super) fn chain(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(because) = cause {
        let because_text = because.to_string();
        if !text.contains(&because_text) {
            text = format!("{text}: {because_text}");
        }
        cause = because.source();
    }
    text
}

/// What an error means is seen against the database and how long we waited.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The URL without its password.
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

    /// The database cannot be reached now.
    pub(super) fn away(&self, reason: String, hint: &str) -> StoreError {
        StoreError::Away { path: self.path.clone(), reason, hint: hint.into() }
    }

    fn sql(&self, error: client::Error) -> StoreError {
        match error {
            client::Error::NoRows => StoreError::Other(format!("a row is gone ({})", self.path)),
            client::Error::Unreadable(why) => {
                StoreError::Unreadable(format!("a stored row cannot be read: {why}"))
            }
            client::Error::Gone(why) => self.away(why, COMES_BACK),
            client::Error::Server(error) => self.server(&error),
        }
    }

    /// What a server that answers says.
    pub(super) fn server(&self, error: &tokio_postgres::Error) -> StoreError {
        let (path, reason) = (self.path.clone(), chain(error));
        let Some(code) = error.code() else {
            return StoreError::Other(format!("{reason} ({path})"));
        };
        let write = |hint: &str| StoreError::Write {
            path: path.clone(),
            reason: reason.clone(),
            hint: hint.into(),
        };
        match code.code() {
            "25006" => self.away(
                "the server takes no writes: it is a standby, or set to read-only".into(),
                "name all hosts in the URL, host1,host2, so that the one which takes writes is found",
            ),
            "53300" => self.away(reason, "raise max_connections, or close what holds them"),
            _ if is_away(code) => self.away(reason, COMES_BACK),
            "55P03" => StoreError::Busy { path, seconds: self.wait_seconds },
            "57014" => write("the server gave up after its time limit; look at what it is busy with"),
            "53100" => write("make room on the server's disk; nothing of the last step was written"),
            "53200" | "53400" | "58030" => {
                write("look at the server's log; nothing of the last step was written")
            }
            "42501" => write("grant this user the right, or run `mainspring db upgrade` as the owner"),
            "42P01" | "3F000" => write("the tables are gone; `mainspring db upgrade` makes them"),
            "XX001" | "XX002" => StoreError::Corrupt { path, reason },
            code => StoreError::Other(format!("{reason} (SQLSTATE {code}, {path})")),
        }
    }
}

/// What to do where there is no server.
const COMES_BACK: &str =
    "see whether the server runs and is reached from here; we go on when it comes back";
