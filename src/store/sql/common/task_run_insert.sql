INSERT INTO task_run (
    id, run_id, task_id, task_version_id, map_index, nominal_at, biz_date, created_at, state,
    revision, first_ready_at, started_at, finished_at, attempt_no, rerun_base, errors_used,
    losses_used, preemptions_used, token, wake_at, blocked_by, code, stale, result_uri, result,
    deadline_at, overdue_at, blocked_until, item, fingerprint, unchanged
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31
)
