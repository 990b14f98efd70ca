SELECT attempt.duration_ms
FROM task_run
JOIN attempt ON attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no
WHERE task_run.task_id = $1 AND task_run.state = $2 AND attempt.duration_ms IS NOT NULL
ORDER BY task_run.nominal_at DESC, task_run.id DESC
LIMIT $3
