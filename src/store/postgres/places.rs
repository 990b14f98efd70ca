//! Places of backfills, written and asked for as columns: a plan may have a hundred thousand of them.

use std::collections::BTreeSet;

use super::client::{Connection, Result, Value};
use super::commit::rounds;
use super::texts;
use crate::model::{BackfillRow, BackfillRunRow, TaskRunRow};

/// All places of a backfill, empty.
pub(super) fn insert(conn: &Connection, row: &BackfillRow) -> Result<()> {
    let runs = &row.plan.runs;
    let dates: Vec<String> = runs.iter().map(|run| run.biz_date.to_string()).collect();
    let values = vec![
        row.id.0.into(),
        Value::texts(runs.iter().map(|run| Some(row.plan.dag_of(run)))),
        Value::ints(runs.iter().map(|run| run.nominal_at.0)),
        Value::texts(dates.iter().map(|date| Some(date.as_str()))),
    ];
    conn.prepare_cached(texts::BACKFILL_RUN_INSERT_MANY)?.execute(values)?;
    Ok(())
}

/// What becomes of places; given back is the first that has a run already, or is not there.
pub(super) fn fill<'p>(
    conn: &Connection,
    filled: &'p [BackfillRunRow],
) -> Result<Option<&'p BackfillRunRow>> {
    for places in rounds(filled, |place| (place.backfill_id, place.ordinal)) {
        let values = vec![
            Value::ints(places.iter().map(|place| place.backfill_id.0)),
            Value::ints(places.iter().map(|place| place.ordinal.into())),
            Value::Ints(places.iter().map(|place| place.run_id.map(|run| run.0)).collect()),
            Value::texts(places.iter().map(|place| place.note.as_deref())),
        ];
        let mut update = conn.prepare_cached(texts::BACKFILL_RUN_FILL_MANY)?;
        let found = update.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found: BTreeSet<(i64, u32)> = found.collect::<Result<_>>()?;
        let is_free =
            |place: &BackfillRunRow| found.contains(&(place.backfill_id.0, place.ordinal));
        if let Some(place) = places.into_iter().find(|place| !is_free(place)) {
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
    let times = || rows.iter().map(|row| row.nominal_at.0);
    let (Some(from), Some(to)) = (times().min(), times().max()) else { return Ok(None) };
    let values = vec![
        Value::ints(rows.iter().map(|row| row.task_id.0)),
        Value::ints(times()),
        Value::ints(rows.iter().map(|row| row.run_id.0)),
        from.into(),
        to.into(),
    ];
    let mut select = conn.prepare_cached(texts::CELL_OPEN_MANY)?;
    let mut found = select.query(values)?;
    let Some(row) = found.next()? else { return Ok(None) };
    let nth: i64 = row.get(0)?;
    Ok(usize::try_from(nth - 1).ok().and_then(|nth| rows.get(nth)).copied())
}
