//! Writing a batch. All checks and writes are inside one transaction, which the caller holds.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::errors::Fault;
use super::register_rows::some_json;
use super::{backfills, requests, schedules, texts};
use crate::model::{
    AttemptStart, Instant, Progress, RunId, RunRow, ScopeLease, TaskRunId, TaskRunRow,
};
use crate::store::batch::{DEADLINE_EVENT, Order, claimed};
use crate::store::{Batch, Changed, CommitError, CreatedRun, Ended, NextIds};

type Done = Result<(), Fault>;

/// The `sequence` row.
pub(super) struct Sequence {
    pub run: i64,
    pub task_run: i64,
    pub attempt: i64,
}

impl Sequence {
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        conn.prepare_cached(texts::SEQUENCE_READ)?.query_row([], |row| {
            Ok(Sequence { run: row.get(0)?, task_run: row.get(1)?, attempt: row.get(2)? })
        })
    }

    fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.prepare_cached(texts::SEQUENCE_MOVE)?
            .execute(params![self.run, self.task_run, self.attempt])
            .map(|_| ())
    }

    pub(super) fn next(&self) -> NextIds {
        NextIds { run: self.run, task_run: self.task_run }
    }
}

/// Refuses a holder that is not the current one of its scope.
pub(super) fn fence(conn: &Connection, lease: ScopeLease) -> Done {
    let held = conn.prepare_cached(texts::SCOPE_HELD)?.exists(params![
        lease.scope_id.0,
        lease.epoch,
        lease.node_id.0
    ])?;
    if held { Ok(()) } else { Err(CommitError::Fenced.into()) }
}

pub(super) fn commit(conn: &Connection, batch: &Batch) -> Done {
    fence(conn, batch.lease)?;
    rely(conn, batch)?;
    backfills::begin(conn, batch)?;
    if !batch.created.is_empty() || !batch.items.is_empty() || !batch.starts.is_empty() {
        let mut sequence = Sequence::read(conn)?;
        if batch.expected_ids().is_some_and(|expected| expected != sequence.next()) {
            return Err(CommitError::IdsMoved(sequence.next()).into());
        }
        create(conn, &batch.created, &mut sequence)?;
        create_task_runs(conn, &batch.items, &mut sequence)?;
        progress(conn, batch)?;
        attempts(conn, batch, &mut sequence)?;
        sequence.write(conn)?;
    } else {
        progress(conn, batch)?;
        attempts(conn, batch, &mut Sequence { run: 0, task_run: 0, attempt: 0 })?;
    }
    move_runs(conn, batch)?;
    schedules::commit(conn, batch)?;
    backfills::fill(conn, batch)?;
    backfills::check_unfilled(conn, batch)?;
    backfills::check_cells(conn, batch)?;
    requests::answer(conn, batch)?;
    let mut insert = conn.prepare_cached(texts::JOURNAL_INSERT)?;
    for (run, entries) in &batch.journal {
        insert.execute(params![run.0, entries])?;
    }
    Ok(())
}

/// Refuses starts whose upstreams, which somebody else decides for, have moved.
fn rely(conn: &Connection, batch: &Batch) -> Done {
    let mut stands = conn.prepare_cached(texts::TASK_RUN_STANDS)?;
    for (id, state) in &batch.relies {
        if !stands.exists(params![id.0, state.as_str()])? {
            return Err(conflict(Changed::TaskRun(*id)));
        }
    }
    Ok(())
}

fn create(conn: &Connection, created: &[CreatedRun], sequence: &mut Sequence) -> Done {
    for CreatedRun { row, task_runs, schedules } in created {
        if let Some(key) = row.timed_key() {
            let known: Option<i64> = conn
                .prepare_cached(texts::RUN_TIMED)?
                .query_row(
                    params![
                        row.dag_id.0,
                        row.task_id.map_or(0, |id| id.0),
                        row.nominal_at.0,
                        row.variant
                    ],
                    |row| row.get(0),
                )
                .optional()?;
            if let Some(id) = known {
                return Err(CommitError::RunExists { run: RunId(id), key: Box::new(key) }.into());
            }
        }
        insert_run(conn, row)?;
        schedules::link(conn, schedules.iter().map(|schedule| (row.id, *schedule)))?;
        sequence.run = sequence.run.max(row.id.0 + 1);
        create_task_runs(conn, task_runs, sequence)?;
    }
    Ok(())
}

fn create_task_runs(conn: &Connection, rows: &[TaskRunRow], sequence: &mut Sequence) -> Done {
    let mut insert = conn.prepare_cached(texts::TASK_RUN_INSERT)?;
    for task_run in rows {
        insert_task_run(&mut insert, task_run)?;
        sequence.task_run = sequence.task_run.max(task_run.id.0 + 1);
    }
    Ok(())
}

fn insert_run(conn: &Connection, row: &RunRow) -> rusqlite::Result<()> {
    conn.prepare_cached(texts::RUN_INSERT)?.execute(params![
        row.id.0,
        row.dag_id.0,
        row.nominal_at.0,
        row.biz_date.to_string(),
        row.interval_start.0,
        row.interval_end.0,
        row.timezone,
        row.trigger.as_str(),
        row.timed,
        row.interactive,
        row.requested_by,
        row.params,
        row.state.as_str(),
        row.created_at.0,
        row.finished_at.map(|at| at.0),
        row.scope_id.0,
        row.first_task_run_id.0,
        row.task_count,
        row.schedule_id.map(|id| id.0),
        row.task_id.map(|id| id.0),
        row.variant,
        row.backfill_id.map(|id| id.0),
    ])?;
    Ok(())
}

fn at(instant: Option<Instant>) -> Option<i64> {
    instant.map(|at| at.0)
}

fn insert_task_run(insert: &mut Statement<'_>, row: &TaskRunRow) -> rusqlite::Result<()> {
    let now: &Progress = &row.progress;
    insert.execute(params![
        row.id.0,
        row.run_id.0,
        row.task_id.0,
        row.task_version_id.0,
        row.map_index,
        row.nominal_at.0,
        row.biz_date.to_string(),
        row.created_at.0,
        now.state.as_str(),
        now.revision,
        at(now.first_ready_at),
        at(now.started_at),
        at(now.finished_at),
        now.attempt_no,
        now.rerun_base,
        now.errors_used,
        now.losses_used,
        now.preemptions_used,
        now.token.0,
        at(now.wake_at),
        now.blocked_by.map(|id| id.0),
        now.code,
        now.stale,
        now.result_uri,
        now.result.as_deref(),
        at(now.deadline_at),
        at(now.overdue_at),
        at(now.blocked_until),
        now.item.as_deref(),
        now.fingerprint,
        now.unchanged,
    ])?;
    Ok(())
}

fn progress(conn: &Connection, batch: &Batch) -> Done {
    let mut update = conn.prepare_cached(texts::TASK_RUN_PROGRESS)?;
    for progressed in &batch.progressed {
        let now = &progressed.progress;
        let changed = update.execute(params![
            now.state.as_str(),
            now.revision,
            at(now.first_ready_at),
            at(now.started_at),
            at(now.finished_at),
            now.attempt_no,
            now.rerun_base,
            now.errors_used,
            now.losses_used,
            now.preemptions_used,
            now.token.0,
            at(now.wake_at),
            now.blocked_by.map(|id| id.0),
            now.code,
            now.stale,
            now.result_uri,
            now.result.as_deref(),
            at(now.deadline_at),
            at(now.overdue_at),
            at(now.blocked_until),
            now.item.as_deref(),
            now.fingerprint,
            now.unchanged,
            progressed.id.0,
            progressed.expected_revision,
        ])?;
        if changed != 1 {
            return Err(conflict(Changed::TaskRun(progressed.id)));
        }
    }
    let mut mark = conn.prepare_cached(texts::TASK_RUN_STALE)?;
    for id in &batch.stale {
        mark.execute([id.0])?;
    }
    let mut outdate = conn.prepare_cached(texts::TASK_RUN_OUTDATE)?;
    for (task, date, run) in &batch.outdated {
        outdate.execute(params![task.0, date.to_string(), run.0])?;
    }
    if !batch.overdue.is_empty() {
        let mut mark = conn.prepare_cached(texts::TASK_RUN_OVERDUE)?;
        // A commit may be tried again that was durable after all: nothing is told twice.
        let mut tell = conn.prepare_cached(texts::OUTBOX_ONCE)?;
        for overdue in &batch.overdue {
            mark.execute([overdue.when.0, overdue.id.0])?;
            let payload = serde_json::json!({
                "deadline_at": overdue.deadline_at.0,
                "canceled": overdue.canceled,
            });
            tell.execute(params![
                DEADLINE_EVENT,
                overdue.run.0,
                overdue.id.0,
                payload.to_string(),
                overdue.when.0,
            ])?;
        }
    }
    Ok(())
}

pub(super) fn conflict(what: Changed) -> Fault {
    CommitError::Conflict { what }.into()
}

/// Attempts and leases, in the order that `Order` explains.
fn attempts(conn: &Connection, batch: &Batch, sequence: &mut Sequence) -> Done {
    let order = Order::of(batch);
    finish(conn, order.ends_before())?;
    drop_leases(conn, order.releases_before())?;
    begin(conn, &batch.starts, sequence)?;
    finish(conn, order.ends_after())?;
    drop_leases(conn, order.releases_after())?;
    let mut stop = conn.prepare_cached(texts::LEASE_STOP)?;
    for (id, reason) in &batch.stops {
        stop.execute(params![reason.as_str(), id.0])?;
    }
    check_pools(conn, &batch.starts)?;
    check_limits(conn, &batch.starts)
}

fn begin(conn: &Connection, starts: &[AttemptStart], sequence: &mut Sequence) -> Done {
    let mut attempt = conn.prepare_cached(texts::ATTEMPT_INSERT)?;
    let mut lease = conn.prepare_cached(texts::LEASE_INSERT)?;
    for start in starts {
        let inserted = attempt.execute(params![
            sequence.attempt,
            start.task_run_id.0,
            start.attempt_no,
            start.token.0,
            start.nominal_at.0,
            start.task_version_id.0,
            start.node_id.0,
            start.started_at.0,
        ])?;
        sequence.attempt += 1;
        let leased = lease.execute(params![
            start.task_run_id.0,
            start.attempt_no,
            start.token.0,
            start.node_id.0,
            start.pool,
            start.slots,
            held(start)?,
        ])?;
        if inserted != 1 || leased != 1 {
            return Err(conflict(Changed::Attempt(start.task_run_id, start.attempt_no)));
        }
    }
    Ok(())
}

/// What a lease says of the limits that its attempt holds.
fn held(start: &AttemptStart) -> Result<Option<String>, Fault> {
    Ok(some_json(&start.held(), start.limits.is_empty())?)
}

fn finish<'a>(conn: &Connection, ends: impl Iterator<Item = &'a Ended>) -> Done {
    let mut update = conn.prepare_cached(texts::ATTEMPT_END)?;
    let mut lease = conn.prepare_cached(texts::LEASE_DROP)?;
    for Ended { end, released } in ends {
        let seen = &end.record;
        let changed = update.execute(params![
            end.outcome.as_str(),
            end.finished_at.0,
            seen.duration_ms,
            seen.cpu_ms,
            seen.max_rss_kb,
            seen.pid,
            seen.exit_code,
            seen.signal,
            seen.error_code,
            seen.error_type,
            seen.error,
            seen.traceback,
            seen.log_uri,
            seen.log_tail,
            seen.params,
            seen.polls,
            end.task_run_id.0,
            end.attempt_no,
            end.token.0,
        ])?;
        if changed != 1 {
            return Err(conflict(Changed::Attempt(end.task_run_id, end.attempt_no)));
        }
        if *released {
            lease.execute([end.task_run_id.0])?;
        }
    }
    Ok(())
}

fn drop_leases(conn: &Connection, ids: impl Iterator<Item = TaskRunId>) -> Done {
    let mut delete = conn.prepare_cached(texts::LEASE_DROP)?;
    for id in ids {
        delete.execute([id.0])?;
    }
    Ok(())
}

/// Named pools are shared with other processes, so they are counted again in here. One task that
/// is wider than its pool may run alone in it.
fn check_pools(conn: &Connection, starts: &[AttemptStart]) -> Done {
    let mut mine: BTreeMap<&str, i64> = BTreeMap::new();
    for start in starts {
        if let Some(pool) = start.pool.as_ref().filter(|_| start.slots > 0) {
            *mine.entry(pool).or_insert(0) += i64::from(start.slots);
        }
    }
    for (pool, mine) in mine {
        let (capacity, used, live): (Option<i64>, i64, i64) = conn
            .prepare_cached(texts::POOL_USE)?
            .query_row([pool], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let capacity = capacity.unwrap_or(0);
        if used > capacity && live > 1 {
            let free = u32::try_from(capacity - (used - mine)).unwrap_or(0);
            return Err(CommitError::PoolFull { pool: pool.into(), free }.into());
        }
    }
    Ok(())
}

/// Limits are shared with other processes as pools are; what a task has for itself stands in what
/// it claims.
fn check_limits(conn: &Connection, starts: &[AttemptStart]) -> Done {
    for (limit, (mine, most)) in claimed(starts) {
        let (shared, used, live): (Option<i64>, i64, i64) = conn
            .prepare_cached(texts::LIMIT_USE)?
            .query_row([limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let capacity = most.map(i64::from).or(shared).unwrap_or(0);
        if used > capacity && live > 1 {
            let free = u32::try_from(capacity - (used - i64::from(mine))).unwrap_or(0);
            return Err(CommitError::LimitFull { limit: limit.into(), free }.into());
        }
    }
    Ok(())
}

fn move_runs(conn: &Connection, batch: &Batch) -> Done {
    if batch.run_moves.is_empty() {
        return Ok(());
    }
    let created: BTreeMap<RunId, &RunRow> =
        batch.created.iter().map(|run| (run.row.id, &run.row)).collect();
    let mut update = conn.prepare_cached(texts::RUN_MOVE)?;
    for change in &batch.run_moves {
        // A run that this batch made is written as it is at the end; only the flag is new.
        let (from, to, finished_at) = match created.get(&change.run) {
            Some(row) => (row.state, row.state, row.finished_at),
            None => (change.from, change.to, change.finished_at),
        };
        let changed = update.execute(params![
            to.as_str(),
            at(finished_at),
            change.cancel_requested,
            change.run.0,
            from.as_str(),
        ])?;
        if changed != 1 {
            return Err(conflict(Changed::Run(change.run)));
        }
    }
    Ok(())
}
