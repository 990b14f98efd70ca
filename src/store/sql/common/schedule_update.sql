UPDATE schedule SET
    cron = $1, timezone = $2, start_date = $3, end_date = $4, biz_offset = $5, position = $6,
    edited_at = CASE WHEN $7 THEN $8 ELSE edited_at END, updated_at = $8, removed_at = NULL
WHERE id = $9
