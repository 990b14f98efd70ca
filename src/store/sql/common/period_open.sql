-- With how far its schedule is covered: by its watermark, and by skips beyond it.
SELECT
    schedule_period.id,
    schedule_period.from_at,
    schedule_period.kind,
    schedule_period.rule,
    schedule.watermark_at,
    (SELECT max(skip.to_at) FROM skip WHERE skip.schedule_id = schedule.id)
FROM schedule_period
JOIN schedule ON schedule.id = schedule_period.schedule_id
WHERE schedule_period.schedule_id = $1 AND schedule_period.until_at IS NULL
