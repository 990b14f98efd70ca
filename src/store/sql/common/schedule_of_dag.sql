SELECT
    schedule.id, schedule.name, schedule.cron, schedule.timezone, schedule.start_date,
    schedule.end_date, schedule.biz_offset, schedule_binding.params, schedule.paused,
    schedule.position, schedule.removed_at
FROM schedule
JOIN schedule_binding ON schedule_binding.schedule_id = schedule.id
WHERE schedule.dag_id = $1 AND schedule_binding.dag_id = $1
ORDER BY schedule.position, schedule.id
