SELECT id FROM task_version WHERE task_id = $1 AND version = $2
