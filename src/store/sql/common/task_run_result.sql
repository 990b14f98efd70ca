SELECT result FROM task_run WHERE id = $1
