SELECT state, count(*) FROM task_run WHERE run_id = $1 GROUP BY state
