UPDATE task_run SET stale = 1 WHERE id = ANY (CAST($1 AS BIGINT[])) AND stale = 0
