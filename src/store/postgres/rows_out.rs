//! Rows as columns: what a bulk statement is given, in the order of its text.

use std::collections::BTreeMap;

use super::client::Value;
use crate::model::{AttemptStart, Instant, Progress, RunRow, TaskRunRow};
use crate::store::{Ended, Progressed};

fn ints<T>(rows: &[&T], of: impl Fn(&T) -> i64) -> Value {
    Value::ints(rows.iter().map(|row| of(row)))
}

fn some<T, N: Into<i64>>(rows: &[&T], of: impl Fn(&T) -> Option<N>) -> Value {
    Value::Ints(rows.iter().map(|row| of(row).map(Into::into)).collect())
}

fn at<T>(rows: &[&T], of: impl Fn(&T) -> Option<Instant>) -> Value {
    Value::Ints(rows.iter().map(|row| of(row).map(|at| at.0)).collect())
}

fn texts<T>(rows: &[&T], of: impl Fn(&T) -> Option<&str>) -> Value {
    Value::texts(rows.iter().map(|row| of(row)))
}

fn owned<T>(rows: &[&T], of: impl Fn(&T) -> String) -> Value {
    Value::Texts(rows.iter().map(|row| Some(of(row))).collect())
}

/// For `run_insert_many`.
pub(super) fn runs(rows: &[&RunRow]) -> Vec<Value> {
    vec![
        ints(rows, |row| row.id.0),
        ints(rows, |row| row.dag_id.0),
        ints(rows, |row| row.nominal_at.0),
        owned(rows, |row| row.biz_date.to_string()),
        ints(rows, |row| row.interval_start.0),
        ints(rows, |row| row.interval_end.0),
        texts(rows, |row| Some(&row.timezone)),
        texts(rows, |row| Some(row.trigger.as_str())),
        ints(rows, |row| row.timed.into()),
        ints(rows, |row| row.interactive.into()),
        texts(rows, |row| row.requested_by.as_deref()),
        texts(rows, |row| Some(&row.params)),
        texts(rows, |row| Some(row.state.as_str())),
        ints(rows, |row| row.created_at.0),
        at(rows, |row| row.finished_at),
        ints(rows, |row| row.scope_id.0),
        ints(rows, |row| row.first_task_run_id.0),
        ints(rows, |row| row.task_count.into()),
        some(rows, |row| row.schedule_id.map(|id| id.0)),
        some(rows, |row| row.task_id.map(|id| id.0)),
        texts(rows, |row| Some(&row.variant)),
        some(rows, |row| row.backfill_id.map(|id| id.0)),
    ]
}

/// What changes in a task run, in the order that both statements have.
fn progress<T>(rows: &[&T], of: impl Fn(&T) -> &Progress + Copy) -> Vec<Value> {
    vec![
        texts(rows, |row| Some(of(row).state.as_str())),
        ints(rows, |row| of(row).revision.into()),
        at(rows, |row| of(row).first_ready_at),
        at(rows, |row| of(row).started_at),
        at(rows, |row| of(row).finished_at),
        ints(rows, |row| of(row).attempt_no.into()),
        ints(rows, |row| of(row).rerun_base.into()),
        ints(rows, |row| of(row).errors_used.into()),
        ints(rows, |row| of(row).losses_used.into()),
        ints(rows, |row| of(row).preemptions_used.into()),
        ints(rows, |row| of(row).token.0),
        at(rows, |row| of(row).wake_at),
        some(rows, |row| of(row).blocked_by.map(|id| id.0)),
        texts(rows, |row| of(row).code.as_deref()),
        ints(rows, |row| of(row).stale.into()),
        texts(rows, |row| of(row).result_uri.as_deref()),
        texts(rows, |row| of(row).result.as_deref()),
        at(rows, |row| of(row).deadline_at),
        at(rows, |row| of(row).overdue_at),
        at(rows, |row| of(row).blocked_until),
        texts(rows, |row| of(row).item.as_deref()),
        texts(rows, |row| of(row).fingerprint.as_deref()),
        ints(rows, |row| of(row).unchanged.into()),
    ]
}

/// For `task_run_insert_many`.
pub(super) fn task_runs(rows: &[&TaskRunRow]) -> Vec<Value> {
    let mut values = vec![
        ints(rows, |row| row.id.0),
        ints(rows, |row| row.run_id.0),
        ints(rows, |row| row.task_id.0),
        ints(rows, |row| row.task_version_id.0),
        ints(rows, |row| row.map_index.into()),
        ints(rows, |row| row.nominal_at.0),
        owned(rows, |row| row.biz_date.to_string()),
        ints(rows, |row| row.created_at.0),
    ];
    values.extend(progress(rows, |row| &row.progress));
    values
}

/// For `task_run_progress_many`.
pub(super) fn progressed(rows: &[&Progressed], (from, to): (i64, i64)) -> Vec<Value> {
    let mut values =
        vec![ints(rows, |row| row.id.0), ints(rows, |row| row.expected_revision.into())];
    values.extend(progress(rows, |row| &row.progress));
    values.extend([from.into(), to.into()]);
    values
}

/// For `attempt_insert_many`: with numbers from `first` on.
pub(super) fn attempts(rows: &[&AttemptStart], first: i64) -> Vec<Value> {
    vec![
        Value::ints((first..).take(rows.len())),
        ints(rows, |row| row.task_run_id.0),
        ints(rows, |row| row.attempt_no.into()),
        ints(rows, |row| row.token.0),
        ints(rows, |row| row.nominal_at.0),
        ints(rows, |row| row.task_version_id.0),
        ints(rows, |row| row.node_id.0),
        ints(rows, |row| row.started_at.0),
    ]
}

/// For `lease_insert_many`.
pub(super) fn leases(rows: &[&AttemptStart]) -> Vec<Value> {
    // Names and numbers: nothing of this is refused.
    let held = |row: &AttemptStart| -> Option<String> {
        let held: BTreeMap<_, _> = row.held();
        (!row.limits.is_empty()).then(|| serde_json::json!(held).to_string())
    };
    vec![
        ints(rows, |row| row.task_run_id.0),
        ints(rows, |row| row.attempt_no.into()),
        ints(rows, |row| row.token.0),
        ints(rows, |row| row.node_id.0),
        texts(rows, |row| row.pool.as_deref()),
        ints(rows, |row| row.slots.into()),
        Value::Texts(rows.iter().map(|row| held(row)).collect()),
    ]
}

/// For `attempt_end_many`.
pub(super) fn ends(rows: &[&&Ended], (from, to): (i64, i64)) -> Vec<Value> {
    let rows: Vec<&Ended> = rows.iter().map(|row| **row).collect();
    let rows = rows.as_slice();
    vec![
        ints(rows, |row| row.end.task_run_id.0),
        ints(rows, |row| row.end.attempt_no.into()),
        ints(rows, |row| row.end.token.0),
        texts(rows, |row| Some(row.end.outcome.as_str())),
        ints(rows, |row| row.end.finished_at.0),
        ints(rows, |row| row.end.record.duration_ms),
        some(rows, |row| row.end.record.cpu_ms),
        some(rows, |row| row.end.record.max_rss_kb),
        some(rows, |row| row.end.record.pid),
        some(rows, |row| row.end.record.exit_code),
        some(rows, |row| row.end.record.signal),
        texts(rows, |row| row.end.record.error_code.as_deref()),
        texts(rows, |row| row.end.record.error_type.as_deref()),
        texts(rows, |row| row.end.record.error.as_deref()),
        texts(rows, |row| row.end.record.traceback.as_deref()),
        texts(rows, |row| row.end.record.log_uri.as_deref()),
        texts(rows, |row| row.end.record.log_tail.as_deref()),
        texts(rows, |row| row.end.record.params.as_deref()),
        some(rows, |row| row.end.record.polls),
        from.into(),
        to.into(),
    ]
}
