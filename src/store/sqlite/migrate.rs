//! From an empty file, or an older schema, to ours.

use rusqlite::Connection;

use super::errors::Fault;
use crate::model::{
    Backoff, EdgeKind, MISSED_WINDOW_MS, Missed, OffsetUnit, Outcome, PeriodKind, ReleaseKind,
    RunState, State, StopReason, Trigger, Which,
};
use crate::store::StoreError;

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

/// Puts the words of the enums into a migration, so that no SQL text lists them.
pub(super) fn stamp(text: &str) -> String {
    fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
        words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
    }
    /// Arms of a CASE: `WHEN 'SUCCESS' THEN 2 ...`.
    fn arms<'a>(codes: impl Iterator<Item = (&'a str, u8)>) -> String {
        codes.map(|(word, code)| format!("WHEN '{word}' THEN {code}")).collect::<Vec<_>>().join(" ")
    }
    fn known<'a>(words: impl Iterator<Item = &'a str>) -> String {
        arms(words.map(|word| (word, 1)))
    }
    let run_is_open = |state: &RunState| u8::from(*state == RunState::Running);
    let open = || State::ALL.iter().filter(|state| !state.is_final());
    // PENDING and what the texts that users bring have no word for.
    let waiting = || open().filter(|state| **state != State::Running);
    let shown = |state: &State| {
        let waits = !state.is_final() && *state != State::Running;
        if waits { State::Pending } else { *state }
    };
    let lists = [
        ("waiting_states", list(waiting().map(|word| word.as_str()))),
        ("state_is_open", arms(State::ALL.iter().map(|w| (w.as_str(), u8::from(!w.is_final()))))),
        ("run_state_is_open", arms(RunState::ALL.iter().map(|w| (w.as_str(), run_is_open(w))))),
        ("outcomes_known", known(Outcome::ALL.iter().map(|word| word.as_str()))),
        ("stop_reasons_known", known(StopReason::ALL.iter().map(|word| word.as_str()))),
        ("triggers_known", known(Trigger::ALL.iter().map(|word| word.as_str()))),
        ("state_codes", arms(State::ALL.iter().map(|word| (word.as_str(), shown(word).code())))),
        ("trigger_codes", arms(Trigger::ALL.iter().map(|word| (word.as_str(), word.code())))),
        ("backoffs", list(Backoff::ALL.iter().map(|word| word.as_str()))),
        ("edge_kinds", list(EdgeKind::ALL.iter().map(|word| word.as_str()))),
        ("edge_codes", arms(EdgeKind::ALL.iter().map(|word| (word.as_str(), word.code())))),
        ("weak", list([EdgeKind::Weak.as_str()].into_iter())),
        ("running", list([State::Running.as_str()].into_iter())),
        ("pending", list([State::Pending.as_str()].into_iter())),
        ("offset_units", list(OffsetUnit::ALL.iter().map(|word| word.as_str()))),
        ("period_kinds_known", known(PeriodKind::ALL.iter().map(|word| word.as_str()))),
        ("period_active", list([PeriodKind::Active.as_str()].into_iter())),
        ("period_paused", list([PeriodKind::Paused.as_str()].into_iter())),
        ("period_removed", list([PeriodKind::Removed.as_str()].into_iter())),
        ("release_kinds_known", known(ReleaseKind::ALL.iter().map(|word| word.as_str()))),
        ("release_pin", list([ReleaseKind::Pin.as_str()].into_iter())),
        ("release_percent", list([ReleaseKind::Percent.as_str()].into_iter())),
        ("release_from_biz_date", list([ReleaseKind::FromBizDate.as_str()].into_iter())),
        ("missed_default", list([Missed::default().as_str()].into_iter())),
        ("missed_window_ms", MISSED_WINDOW_MS.to_string()),
        ("whiches", list(Which::ALL.iter().map(|word| word.as_str()))),
    ];
    let mut text = text.to_owned();
    for (name, words) in lists {
        text = text.replace(&format!("{{{{{name}}}}}"), &words);
    }
    text
}
