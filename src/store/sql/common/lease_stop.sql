UPDATE attempt_lease SET stop_reason = $1 WHERE task_run_id = $2
