-- As history_narrow_attempts, for task runs.
SELECT task_run.id
FROM run
CROSS JOIN task_run
WHERE task_run.run_id = run.id AND {{conditions}}
