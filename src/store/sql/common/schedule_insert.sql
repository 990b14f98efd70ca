INSERT INTO schedule (
    dag_id, name, cron, timezone, start_date, end_date, biz_offset, paused, position, edited_at,
    created_at, updated_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10)
RETURNING id
