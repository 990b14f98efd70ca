INSERT INTO task_release (
    task_id, kind, version_id, base_version_id, percent, from_biz_date, created_by, created_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
