SELECT place.ordinal, task_run.id, task_run.task_id, task_run.state, task_run.code
FROM backfill_run AS place
JOIN run ON run.id = place.run_id
JOIN task_run ON task_run.run_id = run.id AND task_run.nominal_at = run.nominal_at
WHERE place.backfill_id = $1 AND task_run.map_index <= 0 AND task_run.item IS NULL
ORDER BY place.ordinal, task_run.id
