//! Requests: who asks writes a row, who decides answers it.

use super::client::{self, Connection, OptionalExtension, Row, params};

use super::commit::conflict;
use super::errors::Fault;
use super::texts;
use crate::model::{Ask, DagId, Instant, RequestRow, ScopeId};
use crate::store::definition::to_json;
use crate::store::{Batch, Changed};

pub(super) fn ask(
    conn: &Connection,
    scope: ScopeId,
    ask: &Ask,
    by: Option<&str>,
    now: Instant,
) -> Result<i64, Fault> {
    let run = ask.run().map(|run| run.0);
    let payload = to_json(ask)?;
    let mut insert = conn.prepare_cached(texts::REQUEST_INSERT)?;
    let values = params![ask.kind(), scope.0, run, payload, by, now.0];
    Ok(insert.query_row(values, |row| row.get(0))?)
}

fn row(row: &Row<'_>) -> client::Result<RequestRow> {
    Ok(RequestRow {
        id: row.get(0)?,
        scope: ScopeId(row.get(1)?),
        payload: row.get(2)?,
        requested_by: row.get(3)?,
        requested_at: Instant(row.get(4)?),
        decided_at: row.get::<_, Option<i64>>(5)?.map(Instant),
        answer: row.get(6)?,
    })
}

pub(super) fn request(conn: &Connection, id: i64) -> Result<Option<RequestRow>, Fault> {
    Ok(conn.prepare_cached(texts::REQUEST_READ)?.query_row([id], row).optional()?)
}

pub(super) fn open(
    conn: &Connection,
    scope: ScopeId,
    limit: u32,
) -> Result<Vec<RequestRow>, Fault> {
    let mut select = conn.prepare_cached(texts::REQUEST_OPEN)?;
    let rows = select.query_map(params![scope.0, limit], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn answer(conn: &Connection, batch: &Batch) -> Result<(), Fault> {
    if batch.answers.is_empty() {
        return Ok(());
    }
    let mut update = conn.prepare_cached(texts::REQUEST_ANSWER)?;
    for (id, decided) in &batch.answers {
        if update.execute(params![batch.now.0, to_json(decided)?, id])? != 1 {
            return Err(conflict(Changed::Request(*id)));
        }
    }
    Ok(())
}

pub(super) fn revisions(conn: &Connection) -> Result<Vec<(DagId, i64)>, Fault> {
    let mut select = conn.prepare_cached(texts::DAG_REVISIONS)?;
    let rows = select.query_map([], |row| Ok((DagId(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
