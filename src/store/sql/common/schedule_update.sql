UPDATE schedule SET
    name = $1, cron = $2, timezone = $3, start_date = $4, end_date = $5, biz_offset = $6,
    biz_rule = $7, missed = $8, missed_window_ms = $9, definition = $10, position = $11,
    edited_at = CASE WHEN $12 THEN $13 ELSE edited_at END, updated_at = $13, removed_at = NULL
WHERE id = $14
