SELECT run.id
FROM task_run
JOIN run ON run.id = task_run.run_id
WHERE task_run.task_id = $1
    AND task_run.nominal_at = $2
    AND task_run.finished_at IS NULL
    AND run.finished_at IS NULL
    AND run.id <> $3
LIMIT 1
