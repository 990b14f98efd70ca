//! What became of very many cells of a task, row by row: nothing is kept on the way.

use super::client::{Connection, params};

use super::errors::Fault;
use super::{rows, texts};
use crate::model::{Date, Instant, PastCell, RunId, State, TaskId, TaskVersionId};
use crate::store::definition::{DISABLED, NOT_SELECTED, UNCHANGED};

pub(super) fn cells(
    conn: &Connection,
    task: TaskId,
    (from, to): (Date, Date),
    each: &mut dyn FnMut(PastCell),
) -> Result<(), Fault> {
    let mut select = conn.prepare_cached(texts::PAST_OF_TASK)?;
    let mut found = select.query(params![
        UNCHANGED,
        State::Success.as_str(),
        DISABLED,
        State::Blocked.as_str(),
        task.0,
        from.to_string(),
        to.to_string(),
        NOT_SELECTED
    ])?;
    while let Some(row) = found.next()? {
        each(PastCell {
            nominal_at: Instant(row.get(0)?),
            biz_date: rows::word(row, 1)?,
            run: RunId(row.get(2)?),
            version: TaskVersionId(row.get(3)?),
            state: rows::word(row, 4)?,
            finished_at: row.get::<_, Option<i64>>(5)?.map(Instant),
            revision: row.get(6)?,
            stale: row.get(7)?,
            disabled: row.get(8)?,
            live: row.get(9)?,
        });
    }
    Ok(())
}

pub(super) fn durations(conn: &Connection, task: TaskId, limit: u32) -> Result<Vec<i64>, Fault> {
    let mut select = conn.prepare_cached(texts::PAST_DURATIONS)?;
    let found =
        select.query_map(params![task.0, State::Success.as_str(), limit], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}
