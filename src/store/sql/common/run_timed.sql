SELECT id
FROM run
WHERE dag_id = $1 AND coalesce(task_id, 0) = $2 AND nominal_at = $3 AND variant = $4 AND timed = 1
