UPDATE task_run SET stale = 1
WHERE task_id = $1 AND biz_date = $2 AND stale = 0 AND finished_at IS NOT NULL AND run_id <> $3
