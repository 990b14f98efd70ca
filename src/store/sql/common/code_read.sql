SELECT code FROM task_version WHERE id = $1
