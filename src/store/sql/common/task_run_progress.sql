UPDATE task_run SET
    state = $1, revision = $2, first_ready_at = $3, started_at = $4, finished_at = $5,
    attempt_no = $6, rerun_base = $7, errors_used = $8, losses_used = $9,
    preemptions_used = $10, token = $11, wake_at = $12, blocked_by = $13, code = $14,
    stale = $15, result_uri = $16, result = $17, deadline_at = $18,
    overdue_at = $19, blocked_until = $20, item = $21,
    fingerprint = $22, unchanged = $23
WHERE id = $24 AND revision = $25
