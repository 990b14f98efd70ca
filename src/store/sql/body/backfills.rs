//! Backfills.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::client::{self, Connection, OptionalExtension, Row, params};

use super::commit::{conflict, fence};
use super::errors::Fault;
use super::{Here, places, rows, texts};
use crate::model::{
    BackfillId, BackfillPlan, BackfillRow, BackfillRunRow, Instant, RunId, ScopeId, ScopeLease,
    State, TaskId, TaskRunId, TaskRunRow,
};
use crate::store::backfills::{MadeRun, held, overlap};
use crate::store::definition::to_json;
use crate::store::{
    BackfillCell, BackfillStore, BackfillSummary, Batch, Changed, CommitError, InTheWay,
    StoreError, StoredBackfill,
};

type Found<T> = Result<T, Fault>;

impl BackfillStore for Here {
    fn next_backfill(&mut self) -> Result<BackfillId, StoreError> {
        self.read(|conn| Ok(next(conn)?))
    }

    fn backfill(&mut self, id: BackfillId) -> Result<Option<StoredBackfill>, StoreError> {
        self.read(|conn| stored(conn, id))
    }

    fn backfills(&mut self) -> Result<Vec<BackfillSummary>, StoreError> {
        self.read(list)
    }

    fn backfill_cells(&mut self, id: BackfillId) -> Result<Vec<BackfillCell>, StoreError> {
        self.read(|conn| cells(conn, id))
    }

    fn open_backfills(&mut self, scope: ScopeId) -> Result<Vec<BackfillId>, StoreError> {
        self.read(|conn| {
            let mut select = conn.prepare_cached(texts::BACKFILL_OF_SCOPE)?;
            let ids = select.query_map([scope.0], |row| row.get(0).map(BackfillId))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    fn held_cells(&mut self) -> Result<BTreeMap<(TaskId, Instant), BackfillId>, StoreError> {
        self.read(|conn| {
            let open = open(conn)?;
            Ok(open.iter().flat_map(|b| held(b).map(|cell| (cell, b.row.id))).collect())
        })
    }

    fn earlier_fingerprint(&mut self, of: TaskRunId) -> Result<Option<String>, StoreError> {
        self.read(|conn| {
            let mut select = conn.prepare_cached(texts::TASK_RUN_EARLIER)?;
            let found: Option<Option<String>> = select
                .query_row(params![of.0, State::Success.as_str()], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
    }

    fn in_the_way(&mut self, plan: &BackfillPlan) -> Result<Option<InTheWay>, StoreError> {
        self.read(|conn| in_the_way(conn, plan))
    }

    fn take_over_backfill(
        &mut self,
        id: BackfillId,
        from: ScopeId,
        lease: ScopeLease,
    ) -> Result<(), CommitError> {
        self.change(|conn| {
            fence(conn, lease)?;
            let scopes = [lease.scope_id.0, id.0, from.0];
            let open: Option<i64> = conn
                .prepare_cached(texts::BACKFILL_SCOPE_MOVE)?
                .query_row(scopes, |row| row.get(0))
                .optional()?;
            let Some(mut open) = open else {
                return Err(conflict(Changed::Backfill(id)));
            };
            let mut runs = conn.prepare_cached(texts::BACKFILL_RUNS_MOVE)?;
            for run in runs.query_map(scopes, |row| row.get::<_, i64>(0))? {
                open = open.max(run?);
            }
            conn.prepare_cached(texts::SCOPE_TAKE)?.execute([lease.node_id.0, from.0, open])?;
            Ok(())
        })
    }
}

fn next(conn: &Connection) -> client::Result<BackfillId> {
    conn.prepare_cached(texts::BACKFILL_NEXT)?.query_row([], |row| row.get(0).map(BackfillId))
}

fn stored(conn: &Connection, id: BackfillId) -> Found<Option<StoredBackfill>> {
    let found = conn
        .prepare_cached(texts::BACKFILL_READ)?
        .query_row([id.0], |row| Ok((read(row)?, row.get::<_, String>(1)?)))
        .optional()?;
    let Some((read, plan)) = found else { return Ok(None) };
    let plan: BackfillPlan = super::read::json(&plan)?;
    let row = BackfillRow { plan: Arc::new(plan), ..read };
    let mut select = conn.prepare_cached(texts::BACKFILL_RUN_PLACES)?;
    let places = select.query_map([id.0], |row| {
        let place = BackfillRunRow {
            backfill_id: id,
            ordinal: row.get(0)?,
            run_id: row.get::<_, Option<i64>>(1)?.map(RunId),
            note: row.get(2)?,
        };
        Ok((place, rows::word_or_null(row, 3)?))
    })?;
    Ok(Some(StoredBackfill { row, places: places.collect::<Result<_, _>>()? }))
}

/// A row but for its plan.
fn read(row: &Row<'_>) -> client::Result<BackfillRow> {
    Ok(BackfillRow {
        id: BackfillId(row.get(0)?),
        plan: Arc::new(BackfillPlan::nothing()),
        state: rows::word(row, 2)?,
        requested_by: row.get(3)?,
        created_at: Instant(row.get(4)?),
        finished_at: row.get::<_, Option<i64>>(5)?.map(Instant),
        cancel_requested: row.get(6)?,
        scope_id: ScopeId(row.get::<_, Option<i64>>(7)?.unwrap_or(0)),
    })
}

fn list(conn: &Connection) -> Found<Vec<BackfillSummary>> {
    let mut select = conn.prepare_cached(texts::BACKFILL_LIST)?;
    let found = select.query_map([], |row| {
        Ok(BackfillSummary {
            id: BackfillId(row.get(0)?),
            dag: row.get(1)?,
            from: rows::word(row, 2)?,
            to: rows::word(row, 3)?,
            state: rows::word(row, 4)?,
            requested_by: row.get(5)?,
            created_at: Instant(row.get(6)?),
            finished_at: row.get::<_, Option<i64>>(7)?.map(Instant),
            cancel_requested: row.get(8)?,
            scope_id: ScopeId(row.get(9)?),
            runs: BTreeMap::new(),
        })
    })?;
    let mut found: Vec<BackfillSummary> = found.collect::<Result<_, _>>()?;
    let mut counts = conn.prepare_cached(texts::BACKFILL_COUNTS)?;
    for backfill in &mut found {
        let rows = counts.query_map([backfill.id.0], |row| {
            let (state, note): (Option<String>, Option<String>) = (row.get(0)?, row.get(1)?);
            Ok((state.or(note).unwrap_or_default(), row.get(2)?))
        })?;
        backfill.runs = rows.collect::<Result<_, _>>()?;
    }
    Ok(found)
}

fn cells(conn: &Connection, id: BackfillId) -> Found<Vec<BackfillCell>> {
    let mut select = conn.prepare_cached(texts::BACKFILL_CELLS)?;
    let found = select.query_map([id.0], |row| {
        Ok(BackfillCell {
            ordinal: row.get(0)?,
            task_run: TaskRunId(row.get(1)?),
            task: TaskId(row.get(2)?),
            state: rows::word(row, 3)?,
            code: row.get(4)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn in_the_way(conn: &Connection, plan: &BackfillPlan) -> Found<Option<InTheWay>> {
    let applied: Option<i64> = conn
        .prepare_cached(texts::BACKFILL_OF_HASH)?
        .query_row([&plan.hash], |row| row.get(0))
        .optional()?;
    if let Some(id) = applied {
        return Ok(Some(InTheWay::Applied(BackfillId(id))));
    }
    Ok(open(conn)?.iter().find_map(|other| overlap(plan, other)))
}

/// All backfills that are open.
fn open(conn: &Connection) -> Found<Vec<StoredBackfill>> {
    let mut select = conn.prepare_cached(texts::BACKFILL_OPEN)?;
    let ids: Vec<i64> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for id in ids {
        found.extend(stored(conn, BackfillId(id))?);
    }
    Ok(found)
}

/// Backfills that begin.
pub(super) fn begin(conn: &Connection, batch: &Batch) -> Found<()> {
    for row in &batch.backfills {
        // Both are seen before this is decided; others may have been faster.
        if next(conn)? != row.id || in_the_way(conn, &row.plan)?.is_some() {
            return Err(conflict(Changed::Backfill(row.id)));
        }
        let ask = &row.plan.ask;
        conn.prepare_cached(texts::BACKFILL_INSERT)?.execute(params![
            row.id.0,
            ask.dag,
            ask.from.to_string(),
            ask.to.to_string(),
            to_json(&*row.plan)?,
            to_json(&ask.params)?,
            row.state.as_str(),
            row.requested_by,
            row.created_at.0,
            row.finished_at.map(|at| at.0),
            row.scope_id.0,
            row.plan.hash,
            row.cancel_requested,
        ])?;
        places::insert(conn, row)?;
    }
    Ok(())
}

/// What became of places, and of backfills.
pub(super) fn fill(conn: &Connection, batch: &Batch) -> Found<()> {
    if let Some(place) = places::fill(conn, &batch.filled)? {
        return Err(conflict(Changed::Backfill(place.backfill_id)));
    }
    let mut update = conn.prepare_cached(texts::BACKFILL_MOVE)?;
    for to in &batch.fill_moves {
        let changed = update.execute(params![
            to.to.as_str(),
            to.finished_at.map(|at| at.0),
            to.cancel_requested,
            to.id.0,
            to.from.as_str(),
        ])?;
        if changed != 1 {
            return Err(conflict(Changed::Backfill(to.id)));
        }
    }
    Ok(())
}

/// Refuses runs of backfills of which a cell is open in a run that somebody else decides for; all
/// else of the batch is written at this time.
pub(super) fn check_cells(conn: &Connection, batch: &Batch) -> Found<()> {
    let made = batch.created.iter().filter(|run| run.row.backfill_id.is_some());
    let rows: Vec<&TaskRunRow> = made.flat_map(|run| &run.task_runs).collect();
    match places::open_cell(conn, &rows)? {
        Some(row) => {
            let (task, nominal_at) = (row.task_id, row.nominal_at);
            Err(CommitError::CellOpen { task, nominal_at }.into())
        }
        None => Ok(()),
    }
}

/// Refuses what is asked for by hand of cells that the run of a backfill computes that somebody else
/// decides for.
pub(super) fn check_unfilled(conn: &Connection, batch: &Batch) -> Found<()> {
    if batch.unfilled.is_empty() {
        return Ok(());
    }
    let mut select = conn.prepare_cached(texts::CELL_FILLED)?;
    for asked in &batch.unfilled {
        let values = params![asked.nominal_at.0, asked.dag_id.0, asked.run.0];
        let found = select.query_map(values, |row| {
            let (task, run) = (TaskId(row.get(0)?), RunId(row.get(1)?));
            Ok((task, run, BackfillId(row.get(2)?)))
        })?;
        for row in found {
            let (task, run, backfill) = row?;
            if asked.tasks.contains(&task) {
                let nominal_at = asked.nominal_at;
                return Err(CommitError::CellFilled { task, nominal_at, run, backfill }.into());
            }
        }
    }
    Ok(())
}

/// All backfills and all runs that they made, for `verify`.
pub(super) fn all(
    conn: &Connection,
) -> Found<(BTreeMap<BackfillId, StoredBackfill>, Vec<MadeRun>)> {
    let mut select = conn.prepare_cached(texts::VERIFY_BACKFILLS)?;
    let ids: Vec<i64> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut found = BTreeMap::new();
    for id in ids.into_iter().map(BackfillId) {
        if let Some(stored) = stored(conn, id)? {
            found.insert(id, stored);
        }
    }
    let mut select = conn.prepare_cached(texts::VERIFY_BACKFILL_RUNS)?;
    let made = select.query_map([], |row| {
        Ok(MadeRun {
            id: RunId(row.get(0)?),
            backfill: BackfillId(row.get(1)?),
            dag: row.get(2)?,
            nominal_at: Instant(row.get(3)?),
            biz_date: rows::word(row, 4)?,
            task_count: row.get(5)?,
        })
    })?;
    Ok((found, made.collect::<Result<_, _>>()?))
}
