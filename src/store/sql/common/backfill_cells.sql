SELECT place.ordinal, task_run.id, task_run.task_id, task_run.state, task_run.code
FROM backfill_run AS place
JOIN task_run ON task_run.run_id = place.run_id
WHERE place.backfill_id = $1 AND task_run.map_index <= 0 AND task_run.item IS NULL
ORDER BY place.ordinal, task_run.id
