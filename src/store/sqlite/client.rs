//! What the statements that both dialects share are run by: here it is rusqlite itself.

use rusqlite::types::ValueRef;

pub(super) use rusqlite::types::Value;
pub(super) use rusqlite::{
    Connection, Error, OptionalExtension, Result, Row, Rows, params, params_from_iter,
};

use super::errors::Fault;
use crate::store::HistoryCell;
use crate::store::verify::Findings;

/// What stands behind LIMIT where all are wanted.
pub(super) const NO_LIMIT: &str = "-1";

/// What makes a number at least 0, and nothing of nothing.
pub(super) const NOT_NEGATIVE: &str = "max(0, ";

/// Rows that are asked for by their ids in one statement.
pub(super) const IDS_AT_ONCE: usize = 1;

/// That an id is one of those.
pub(super) fn one_of_ids(what: &str) -> String {
    format!("{what} = $1")
}

/// What such a statement is given.
pub(super) fn some_ids(ids: &[i64]) -> [Option<i64>; 1] {
    [ids.first().copied()]
}

/// A column holds what cannot be understood.
pub(super) fn unreadable(at: usize, why: &dyn std::fmt::Display) -> Error {
    Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, why.to_string().into())
}

/// Hands a cell of the history to whoever takes it; gives what he says to it.
pub(super) fn history_cell(
    row: &Row<'_>,
    at: usize,
    take: &mut dyn FnMut(HistoryCell<'_>) -> bool,
) -> Result<bool> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => take(HistoryCell::Null),
        ValueRef::Integer(number) => take(HistoryCell::Integer(number)),
        ValueRef::Real(number) => take(HistoryCell::Integer(number as i64)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match str::from_utf8(bytes) {
            Ok(text) => take(HistoryCell::Text(text)),
            Err(_) => take(HistoryCell::Text(&String::from_utf8_lossy(bytes))),
        },
    })
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
