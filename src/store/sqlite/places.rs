//! Places of backfills, written and asked for row by row.

use rusqlite::{Connection, Result, params};

use super::texts;
use crate::model::{BackfillRow, BackfillRunRow, TaskRunRow};

/// All places of a backfill, empty.
pub(super) fn insert(conn: &Connection, row: &BackfillRow) -> Result<()> {
    let mut insert = conn.prepare_cached(texts::BACKFILL_RUN_INSERT)?;
    for (ordinal, run) in (0u32..).zip(&row.plan.runs) {
        let dag = row.plan.dag_of(run);
        let date = run.biz_date.to_string();
        insert.execute(params![row.id.0, ordinal, dag, run.nominal_at.0, date])?;
    }
    Ok(())
}

/// What becomes of places; given back is the first that has a run already, or is not there.
pub(super) fn fill<'p>(
    conn: &Connection,
    filled: &'p [BackfillRunRow],
) -> Result<Option<&'p BackfillRunRow>> {
    let mut update = conn.prepare_cached(texts::BACKFILL_RUN_FILL)?;
    for place in filled {
        let run = place.run_id.map(|run| run.0);
        let values = params![run, place.note, place.backfill_id.0, place.ordinal];
        if update.execute(values)? != 1 {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// The first of these task runs whose cell is open in another run.
pub(super) fn open_cell<'r>(
    conn: &Connection,
    rows: &[&'r TaskRunRow],
) -> Result<Option<&'r TaskRunRow>> {
    let mut select = conn.prepare_cached(texts::CELL_OPEN)?;
    for row in rows {
        if select.exists([row.task_id.0, row.nominal_at.0, row.run_id.0])? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}
