UPDATE attempt SET
    outcome = $1, finished_at = $2, duration_ms = $3, cpu_ms = $4, max_rss_kb = $5, pid = $6,
    exit_code = $7, signal = $8, error_code = $9, error_type = $10, error = $11,
    traceback = $12, log_uri = $13, log_tail = $14, params = $15, polls = $16
WHERE task_run_id = $17 AND attempt_no = $18 AND token = $19 AND outcome IS NULL
