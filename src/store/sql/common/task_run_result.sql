SELECT result, result_uri FROM task_run WHERE id = $1
