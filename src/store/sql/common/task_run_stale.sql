UPDATE task_run SET stale = 1 WHERE id = $1 AND stale = 0
