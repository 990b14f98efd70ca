-- Those that fire, and those that were removed while they had fires before them.
SELECT id, definition, paused, watermark_at, updated_at
FROM schedule
WHERE dag_id = $1 AND (
    removed_at IS NULL
    OR EXISTS (
        SELECT 1
        FROM schedule_period
        WHERE schedule_period.schedule_id = schedule.id
            AND schedule_period.until_at > schedule.watermark_at
    )
)
ORDER BY position, id
