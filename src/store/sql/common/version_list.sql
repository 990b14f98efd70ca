SELECT version, content_hash FROM task_version WHERE task_id = $1
