SELECT
    attempt.id, attempt.task_run_id, attempt.attempt_no, attempt.token, attempt.nominal_at,
    attempt.task_version_id, attempt.node_id, attempt.started_at, attempt_lease.slots,
    attempt_lease.pool, attempt.outcome, attempt.finished_at, attempt.duration_ms, attempt.cpu_ms,
    attempt.max_rss_kb, attempt.pid, attempt.exit_code, attempt.signal, attempt.error_code,
    attempt.error_type, attempt.error, attempt.traceback, attempt.log_uri, attempt.log_tail,
    attempt.params, attempt.polls
FROM attempt
LEFT JOIN attempt_lease
    ON attempt_lease.task_run_id = attempt.task_run_id
    AND attempt_lease.attempt_no = attempt.attempt_no
WHERE attempt.task_run_id = $1
ORDER BY attempt.id
