SELECT 1 FROM task_run WHERE id = $1 AND state = $2
