INSERT INTO attempt (
    id, task_run_id, attempt_no, token, nominal_at, task_version_id, node_id, started_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING
