-- Of cells and the runs that are made of them, the first that is open in another run.
SELECT asked.nth
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]))
    WITH ORDINALITY AS asked (task_id, nominal_at, run_id, nth)
WHERE EXISTS (
    SELECT 1
    FROM task_run
    JOIN run ON run.id = task_run.run_id
    WHERE task_run.task_id = asked.task_id
        AND task_run.nominal_at = asked.nominal_at
        AND task_run.nominal_at >= CAST($4 AS BIGINT)
        AND task_run.nominal_at <= CAST($5 AS BIGINT)
        AND task_run.finished_at IS NULL
        AND run.finished_at IS NULL
        AND run.id <> asked.run_id
)
ORDER BY asked.nth
LIMIT 1
