//! From rows to structs; the columns are in the order of the texts.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use super::client::{self, Result, Row};

use crate::model::{
    AttemptRecord, AttemptRow, AttemptStart, BackfillId, DagId, Date, Instant, LeaseRow, NodeId,
    NodeRow, Progress, RunId, RunRow, ScheduleId, ScopeId, TaskId, TaskRunId, TaskRunRow,
    TaskVersionId, Token,
};

/// A word of an enum, or a date. One that is not known is an error value: a newer version may
/// have written it.
pub(super) fn word<T>(row: &Row<'_>, at: usize) -> Result<T>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    parse(row.get_ref(at)?.as_str()?, at)
}

pub(super) fn word_or_null<T>(row: &Row<'_>, at: usize) -> Result<Option<T>>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    row.get_ref(at)?.as_str_or_null()?.map(|text| parse(text, at)).transpose()
}

fn parse<T>(text: &str, at: usize) -> Result<T>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| client::unreadable(at, &error))
}

fn instant(row: &Row<'_>, at: usize) -> Result<Instant> {
    row.get(at).map(Instant)
}

fn instant_or_null(row: &Row<'_>, at: usize) -> Result<Option<Instant>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Instant))
}

fn text_or_null(row: &Row<'_>, at: usize) -> Result<Option<Arc<str>>> {
    Ok(row.get_ref(at)?.as_str_or_null()?.map(Arc::from))
}

/// The columns of `run_read`, and whether it was asked to stop.
pub(super) fn run(row: &Row<'_>) -> Result<(RunRow, bool)> {
    let run = RunRow {
        id: RunId(row.get(0)?),
        dag_id: DagId(row.get(1)?),
        dag: row.get(2)?,
        nominal_at: instant(row, 3)?,
        biz_date: word::<Date>(row, 4)?,
        interval_start: instant(row, 5)?,
        interval_end: instant(row, 6)?,
        timezone: row.get(7)?,
        trigger: word(row, 8)?,
        timed: row.get(9)?,
        interactive: row.get(10)?,
        requested_by: row.get(11)?,
        params: row.get(12)?,
        state: word(row, 13)?,
        created_at: instant(row, 14)?,
        finished_at: instant_or_null(row, 15)?,
        scope_id: ScopeId(row.get(16)?),
        first_task_run_id: TaskRunId(row.get(17)?),
        task_count: row.get(18)?,
        schedule_id: row.get::<_, Option<i64>>(19)?.map(ScheduleId),
        backfill_id: row.get::<_, Option<i64>>(23)?.map(BackfillId),
        task_id: row.get::<_, Option<i64>>(21)?.map(TaskId),
        variant: row.get(22)?,
    };
    Ok((run, row.get(20)?))
}

/// How many columns `task_run` reads.
pub(super) const TASK_RUN_COLUMNS: usize = 31;

/// The columns of `task_run_of_run`.
pub(super) fn task_run(row: &Row<'_>) -> Result<TaskRunRow> {
    Ok(TaskRunRow {
        id: TaskRunId(row.get(0)?),
        run_id: RunId(row.get(1)?),
        task_id: TaskId(row.get(2)?),
        task_version_id: TaskVersionId(row.get(3)?),
        map_index: row.get(4)?,
        nominal_at: instant(row, 5)?,
        biz_date: word::<Date>(row, 6)?,
        created_at: instant(row, 7)?,
        progress: Progress {
            state: word(row, 8)?,
            revision: row.get(9)?,
            first_ready_at: instant_or_null(row, 10)?,
            started_at: instant_or_null(row, 11)?,
            finished_at: instant_or_null(row, 12)?,
            attempt_no: row.get(13)?,
            rerun_base: row.get(14)?,
            errors_used: row.get(15)?,
            losses_used: row.get(16)?,
            preemptions_used: row.get(17)?,
            token: Token(row.get(18)?),
            wake_at: instant_or_null(row, 19)?,
            blocked_by: row.get::<_, Option<i64>>(20)?.map(TaskRunId),
            code: row.get(21)?,
            stale: row.get(22)?,
            result_uri: row.get(23)?,
            result: text_or_null(row, 24)?,
            deadline_at: instant_or_null(row, 25)?,
            overdue_at: instant_or_null(row, 26)?,
            blocked_until: instant_or_null(row, 27)?,
            item: text_or_null(row, 28)?,
            fingerprint: row.get(29)?,
            unchanged: row.get(30)?,
        },
    })
}

/// The columns of `attempt_of_run`.
pub(super) fn attempt(row: &Row<'_>) -> Result<AttemptRow> {
    Ok(AttemptRow {
        id: row.get(0)?,
        start: AttemptStart {
            task_run_id: TaskRunId(row.get(1)?),
            attempt_no: row.get(2)?,
            token: Token(row.get(3)?),
            nominal_at: instant(row, 4)?,
            task_version_id: TaskVersionId(row.get(5)?),
            node_id: NodeId(row.get(6)?),
            started_at: instant(row, 7)?,
            slots: row.get::<_, Option<u32>>(8)?.unwrap_or(0),
            pool: row.get(9)?,
            limits: Vec::new(),
        },
        outcome: word_or_null(row, 10)?,
        finished_at: instant_or_null(row, 11)?,
        record: AttemptRecord {
            duration_ms: row.get::<_, Option<i64>>(12)?.unwrap_or(0),
            cpu_ms: row.get(13)?,
            max_rss_kb: row.get(14)?,
            pid: row.get(15)?,
            exit_code: row.get(16)?,
            signal: row.get(17)?,
            error_code: row.get(18)?,
            error_type: row.get(19)?,
            error_kinds: Vec::new(),
            fingerprint: None,
            unchanged: false,
            error: row.get(20)?,
            traceback: row.get(21)?,
            log_uri: row.get(22)?,
            log_tail: row.get(23)?,
            params: row.get(24)?,
            polls: row.get(25)?,
        },
    })
}

/// The limits that a lease holds.
fn held(row: &Row<'_>, at: usize) -> Result<BTreeMap<String, u32>> {
    let Some(text) = row.get_ref(at)?.as_str_or_null()? else { return Ok(BTreeMap::new()) };
    serde_json::from_str(text).map_err(|error| client::unreadable(at, &error))
}

/// The columns of `lease_of_run`.
pub(super) fn lease(row: &Row<'_>) -> Result<LeaseRow> {
    Ok(LeaseRow {
        task_run_id: TaskRunId(row.get(0)?),
        attempt_no: row.get(1)?,
        token: Token(row.get(2)?),
        node_id: NodeId(row.get(3)?),
        pool: row.get(4)?,
        slots: row.get(5)?,
        stop_reason: word_or_null(row, 6)?,
        limits: held(row, 7)?,
    })
}

/// The columns of `node_read`.
pub(super) fn node(row: &Row<'_>) -> Result<NodeRow> {
    Ok(NodeRow {
        id: NodeId(row.get(0)?),
        host: row.get(1)?,
        pid: row.get(2)?,
        role: row.get(3)?,
        version: row.get(4)?,
        started_at: instant(row, 5)?,
        heartbeat_at: instant(row, 6)?,
        lease_until: instant(row, 7)?,
        stopped_at: instant_or_null(row, 8)?,
    })
}
