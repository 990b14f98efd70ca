//! What the statements that both dialects share are run by: here it is rusqlite itself.

pub(super) use rusqlite::types::Value;
pub(super) use rusqlite::{
    Connection, Error, OptionalExtension, Result, Row, Rows, params, params_from_iter,
};

use super::errors::Fault;
use crate::store::verify::Findings;

/// What stands behind LIMIT where all are wanted.
pub(super) const NO_LIMIT: &str = "-1";

/// A column holds what cannot be understood.
pub(super) fn unreadable(at: usize, why: &dyn std::fmt::Display) -> Error {
    Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, why.to_string().into())
}

/// What the database itself knows to be wrong with its file.
pub(super) fn whole(conn: &Connection, findings: &mut Findings) -> std::result::Result<(), Fault> {
    let mut check = conn.prepare("PRAGMA integrity_check(100)")?;
    let mut lines = check.query([])?;
    while let Some(row) = lines.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            findings.note("B1", line);
        }
    }
    Ok(())
}
