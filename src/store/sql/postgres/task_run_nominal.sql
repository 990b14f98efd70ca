SELECT id, nominal_at FROM task_run WHERE id = ANY (CAST($1 AS BIGINT[]))
