INSERT INTO schedule (
    dag_id, name, cron, timezone, start_date, end_date, biz_offset, biz_rule, missed,
    missed_window_ms, definition, paused, position, watermark_at, edited_at, created_at, updated_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $14, $14)
RETURNING id
