SELECT kept.result, kept.result_uri
FROM task_run AS asked
JOIN task_run AS kept ON kept.id = CASE
    WHEN asked.code = $1 THEN (
        SELECT max(earlier.id)
        FROM task_run AS earlier
        WHERE earlier.task_id = asked.task_id AND earlier.nominal_at = asked.nominal_at
            AND earlier.id < asked.id AND earlier.state = $2 AND earlier.item IS NULL
    )
    ELSE asked.id
END
WHERE asked.id = $3
