SELECT skip.schedule_id, skip.from_at, skip.to_at, skip.count, skip.reason
FROM schedule
JOIN skip ON skip.schedule_id = schedule.id
WHERE schedule.dag_id = $1
ORDER BY skip.to_at DESC, skip.id DESC
LIMIT $2
