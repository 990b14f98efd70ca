INSERT INTO dependency (
    task_version_id, task_id, upstream_task_id, kind, offset_from, offset_to, offset_unit, which,
    pattern, match_on, on_skip, wait_up_to_ms, asset, created_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
