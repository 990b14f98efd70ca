SELECT DISTINCT task_run.run_id
FROM task_run
JOIN run ON run.id = task_run.run_id
WHERE task_run.finished_at IS NULL AND task_run.state = $1 AND run.scope_id = $2
ORDER BY task_run.run_id
