SELECT state, count(*) FROM task_run WHERE run_id = $1 AND (code IS NULL OR item IS NULL OR code <> 'REMOVED') GROUP BY state
