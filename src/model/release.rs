//! Which version of a task its next runs take, where somebody has decided that.

use serde::{Deserialize, Serialize};

use super::words::words;
use super::{Date, Instant};

words! {
    /// What a release is, as it is stored.
    pub enum ReleaseKind {
        /// One version, whatever is registered.
        Pin = "pin", 0;
        /// Another version for a share of the business dates.
        Percent = "percent", 1;
        /// Another version from a business date on.
        FromBizDate = "from_biz_date", 2;
    }
}

/// The business dates that take the other version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// So many of a hundred, chosen by a hash of the task and the date.
    Percent(u32),
    /// This one and all after it.
    FromBizDate(Date),
}

impl Share {
    /// How it is stored.
    pub fn kind(self) -> ReleaseKind {
        match self {
            Share::Percent(_) => ReleaseKind::Percent,
            Share::FromBizDate(_) => ReleaseKind::FromBizDate,
        }
    }
}

/// What somebody wants of the versions of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReleaseAsk {
    /// A version for all runs, or for a share of the business dates.
    Promote {
        /// Its number.
        version: u32,
        /// For these dates only.
        #[serde(default)]
        share: Option<Share>,
    },
    /// An older version for all runs, whatever is registered.
    Rollback {
        /// Its number; by default the one before the active.
        #[serde(default)]
        version: Option<u32>,
    },
}

/// A release, open or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReleaseRow {
    /// Its id; grows.
    pub id: i64,
    /// Key of the task.
    pub task: String,
    /// The version that it is about.
    pub version: u32,
    /// The dates that take it; none is all of them.
    pub share: Option<Share>,
    /// The version of the other dates.
    pub base: Option<u32>,
    /// Who decided it.
    pub created_by: Option<String>,
    /// When.
    pub created_at: Instant,
    /// Who put another one in its place, or none.
    pub ended_by: Option<String>,
    /// When; none is open.
    pub ended_at: Option<Instant>,
}

/// A version as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionRow {
    /// Its number.
    pub version: u32,
    /// When its content was first registered.
    pub created_at: Instant,
    /// The kind of task.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is called.
    pub handler: Option<String>,
    /// Fingerprint of the handler's text.
    pub code_hash: Option<String>,
    /// Whether runs take it where no other version has its share.
    pub active: bool,
    /// Whether it is what was registered last.
    pub registered: bool,
    /// Where it is written, of the one that was registered last.
    pub source: Option<String>,
}
