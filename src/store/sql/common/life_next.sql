SELECT schedule.id, dag.key, schedule.name, schedule.watermark_at
FROM schedule
JOIN dag ON dag.id = schedule.dag_id
WHERE schedule.id > $1
ORDER BY schedule.id
LIMIT 1
