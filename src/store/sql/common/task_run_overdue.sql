UPDATE task_run SET overdue_at = coalesce(overdue_at, $1) WHERE id = $2
