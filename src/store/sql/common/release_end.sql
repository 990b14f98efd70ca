UPDATE task_release SET ended_by = $1, ended_at = $2 WHERE task_id = $3 AND ended_at IS NULL
