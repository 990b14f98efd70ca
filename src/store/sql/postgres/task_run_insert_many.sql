INSERT INTO task_run (
    id, run_id, task_id, task_version_id, map_index, nominal_at, biz_date, created_at, state,
    revision, first_ready_at, started_at, finished_at, attempt_no, rerun_base, errors_used,
    losses_used, preemptions_used, token, wake_at, blocked_by, code, stale, result_uri, result,
    deadline_at, overdue_at, blocked_until, item, fingerprint, unchanged
)
SELECT *
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
    CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS TEXT[]), CAST($8 AS BIGINT[]),
    CAST($9 AS TEXT[]), CAST($10 AS BIGINT[]), CAST($11 AS BIGINT[]), CAST($12 AS BIGINT[]),
    CAST($13 AS BIGINT[]), CAST($14 AS BIGINT[]), CAST($15 AS BIGINT[]), CAST($16 AS BIGINT[]),
    CAST($17 AS BIGINT[]), CAST($18 AS BIGINT[]), CAST($19 AS BIGINT[]), CAST($20 AS BIGINT[]),
    CAST($21 AS BIGINT[]), CAST($22 AS TEXT[]), CAST($23 AS BIGINT[]), CAST($24 AS TEXT[]),
    CAST($25 AS TEXT[]), CAST($26 AS BIGINT[]), CAST($27 AS BIGINT[]), CAST($28 AS BIGINT[]),
    CAST($29 AS TEXT[]), CAST($30 AS TEXT[]), CAST($31 AS BIGINT[])
)
