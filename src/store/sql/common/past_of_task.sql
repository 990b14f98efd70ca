SELECT
    nominal_at, biz_date, run_id,
    CASE WHEN code = $1 THEN
        coalesce((
            SELECT earlier.task_version_id
            FROM task_run AS earlier
            WHERE earlier.task_id = task_run.task_id AND earlier.nominal_at = task_run.nominal_at
                AND earlier.id < task_run.id AND earlier.state = $2 AND earlier.item IS NULL
            ORDER BY earlier.id DESC
            LIMIT 1
        ), task_version_id)
    ELSE task_version_id END,
    CASE WHEN code = $1 THEN $2 ELSE state END,
    finished_at, revision, stale,
    CASE WHEN code = $3 THEN 1 ELSE 0 END,
    CASE WHEN state = $4 THEN
        (SELECT CASE WHEN run.finished_at IS NULL THEN 1 ELSE 0 END FROM run WHERE run.id = run_id)
    ELSE 0 END
FROM task_run
WHERE task_id = $5 AND biz_date >= $6 AND biz_date <= $7 AND item IS NULL
    AND (code IS NULL OR code <> $8)
