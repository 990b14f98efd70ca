//! Scopes with a name, which one node at a time leads.

use super::client::{self, Connection, OptionalExtension, Row, params};

use super::errors::Fault;
use super::texts;
use crate::model::{Instant, NodeId, RunId, ScopeId, ScopeLease};
use crate::store::CommitError;

/// The columns of every text that reads a scope.
pub(super) fn lease(row: &Row<'_>) -> client::Result<ScopeLease> {
    Ok(ScopeLease {
        scope_id: ScopeId(row.get(0)?),
        epoch: row.get(1)?,
        node_id: NodeId(row.get(2)?),
    })
}

pub(super) fn named(conn: &Connection, name: &str) -> client::Result<Option<ScopeLease>> {
    conn.prepare_cached(texts::SCOPE_NAMED)?.query_row([name], lease).optional()
}

pub(super) fn lead(
    conn: &Connection,
    name: &str,
    node: NodeId,
    held: Option<ScopeLease>,
    now: Instant,
) -> Result<ScopeLease, Fault> {
    let found = named(conn, name)?;
    if found != held {
        return Err(CommitError::Fenced.into());
    }
    let Some(held) = found else {
        let mut insert = conn.prepare_cached(texts::SCOPE_FOUND)?;
        let id = insert.query_row(params![name, node.0, now.0], |row| row.get(0))?;
        return Ok(ScopeLease { scope_id: ScopeId(id), epoch: 1, node_id: node });
    };
    conn.prepare_cached(texts::SCOPE_LEAD)?.execute([node.0, held.scope_id.0])?;
    Ok(ScopeLease { epoch: held.epoch + 1, node_id: node, ..held })
}

pub(super) fn open_runs(conn: &Connection, scope: ScopeId) -> Result<Vec<RunId>, Fault> {
    let mut select = conn.prepare_cached(texts::RUN_OF_SCOPE)?;
    let runs = select.query_map([scope.0], |row| row.get(0).map(RunId))?;
    Ok(runs.collect::<Result<_, _>>()?)
}
