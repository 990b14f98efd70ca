//! Why a session could not do what it was asked.

use crate::engine::Refusal;
use crate::model::SpecError;
use crate::store::StoreError;

/// Why a session could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A definition or a request is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It is not possible as things stand.
    #[error("{0}")]
    Refused(String),
    /// The database failed.
    #[error("{0}")]
    Store(String),
    /// Something that is stored says nothing we understand. Other things may be as they should.
    #[error("{0}")]
    Unreadable(String),
    /// The session was closed.
    #[error("this session was closed\n  hint: the next call opens a new one")]
    Closed,
    /// A fault of ours.
    #[error("mainspring is at fault: {0}\n  hint: please report it")]
    Internal(String),
}

impl SessionError {
    /// Whether it is about one dag or run alone, so that others can go on without it. Not so where
    /// the database as a whole fails, which may be over in a moment.
    pub fn is_of_one(&self) -> bool {
        matches!(self, SessionError::Spec(_) | SessionError::Unreadable(_))
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(problems) => SessionError::Spec(problems),
            unreadable @ StoreError::Unreadable(_) => {
                SessionError::Unreadable(unreadable.to_string())
            }
            absent @ StoreError::Absent { .. } => SessionError::NotFound(absent.to_string()),
            other => SessionError::Store(other.to_string()),
        }
    }
}

impl From<Refusal> for SessionError {
    fn from(refusal: Refusal) -> Self {
        SessionError::Refused(refusal.to_string())
    }
}
