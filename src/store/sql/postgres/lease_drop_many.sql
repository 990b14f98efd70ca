DELETE FROM attempt_lease WHERE task_run_id = ANY (CAST($1 AS BIGINT[]))
