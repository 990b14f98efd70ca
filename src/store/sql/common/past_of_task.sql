SELECT
    nominal_at, biz_date, run_id, task_version_id, state, finished_at, revision, stale,
    CASE WHEN code = $1 THEN 1 ELSE 0 END,
    CASE WHEN state = $2 THEN
        (SELECT CASE WHEN run.finished_at IS NULL THEN 1 ELSE 0 END FROM run WHERE run.id = run_id)
    ELSE 0 END
FROM task_run
WHERE task_id = $3 AND biz_date >= $4 AND biz_date <= $5 AND item IS NULL
    AND (code IS NULL OR code <> $6)
