-- Bounded by nominal time, so that the months of others are not looked at.
UPDATE attempt SET
    outcome = asked.outcome, finished_at = asked.finished_at, duration_ms = asked.duration_ms,
    cpu_ms = asked.cpu_ms, max_rss_kb = asked.max_rss_kb, pid = asked.pid,
    exit_code = asked.exit_code, signal = asked.signal, error_code = asked.error_code,
    error_type = asked.error_type, error = asked.error, traceback = asked.traceback,
    log_uri = asked.log_uri, log_tail = asked.log_tail, params = asked.params,
    polls = asked.polls
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]),
    CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]),
    CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), CAST($11 AS BIGINT[]), CAST($12 AS TEXT[]),
    CAST($13 AS TEXT[]), CAST($14 AS TEXT[]), CAST($15 AS TEXT[]), CAST($16 AS TEXT[]),
    CAST($17 AS TEXT[]), CAST($18 AS TEXT[]), CAST($19 AS BIGINT[])
) AS asked (
    id, no, current, outcome, finished_at, duration_ms, cpu_ms, max_rss_kb, pid, exit_code,
    signal, error_code, error_type, error, traceback, log_uri, log_tail, params, polls
)
WHERE attempt.task_run_id = asked.id
    AND attempt.attempt_no = asked.no
    AND attempt.token = asked.current
    AND attempt.outcome IS NULL
    AND attempt.nominal_at >= $20
    AND attempt.nominal_at <= $21
RETURNING attempt.task_run_id
