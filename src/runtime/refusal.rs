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
    /// The session was closed.
    #[error("this session was closed\n  hint: the next call opens a new one")]
    Closed,
    /// A fault of ours.
    #[error("mainspring is at fault: {0}\n  hint: please report it")]
    Internal(String),
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(problems) => SessionError::Spec(problems),
            other => SessionError::Store(other.to_string()),
        }
    }
}

impl From<Refusal> for SessionError {
    fn from(refusal: Refusal) -> Self {
        SessionError::Refused(refusal.to_string())
    }
}
