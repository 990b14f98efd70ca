DELETE FROM attempt_lease WHERE task_run_id = $1
