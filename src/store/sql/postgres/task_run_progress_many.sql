-- Bounded by nominal time, so that the months of others are not looked at.
UPDATE task_run SET
    state = asked.state, revision = asked.revision, first_ready_at = asked.first_ready_at,
    started_at = asked.started_at, finished_at = asked.finished_at,
    attempt_no = asked.attempt_no, rerun_base = asked.rerun_base,
    errors_used = asked.errors_used, losses_used = asked.losses_used,
    preemptions_used = asked.preemptions_used, token = asked.token, wake_at = asked.wake_at,
    blocked_by = asked.blocked_by, code = asked.code, stale = asked.stale,
    result_uri = asked.result_uri, result = asked.result, deadline_at = asked.deadline_at,
    overdue_at = asked.overdue_at, blocked_until = asked.blocked_until, item = asked.item,
    fingerprint = asked.fingerprint, unchanged = asked.unchanged
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[]), CAST($4 AS BIGINT[]),
    CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]),
    CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), CAST($11 AS BIGINT[]), CAST($12 AS BIGINT[]),
    CAST($13 AS BIGINT[]), CAST($14 AS BIGINT[]), CAST($15 AS BIGINT[]), CAST($16 AS TEXT[]),
    CAST($17 AS BIGINT[]), CAST($18 AS TEXT[]), CAST($19 AS TEXT[]), CAST($20 AS BIGINT[]),
    CAST($21 AS BIGINT[]), CAST($22 AS BIGINT[]), CAST($23 AS TEXT[]), CAST($24 AS TEXT[]),
    CAST($25 AS BIGINT[])
) AS asked (
    id, expected, state, revision, first_ready_at, started_at, finished_at, attempt_no,
    rerun_base, errors_used, losses_used, preemptions_used, token, wake_at, blocked_by, code,
    stale, result_uri, result, deadline_at, overdue_at, blocked_until, item, fingerprint,
    unchanged
)
WHERE task_run.id = asked.id
    AND task_run.revision = asked.expected
    AND task_run.nominal_at >= $26
    AND task_run.nominal_at <= $27
RETURNING task_run.id
