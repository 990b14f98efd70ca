SELECT earlier.fingerprint
FROM task_run AS asked
JOIN task_run AS earlier
    ON earlier.task_id = asked.task_id AND earlier.nominal_at = asked.nominal_at
    AND earlier.id < asked.id
WHERE asked.id = $1 AND earlier.state = $2 AND earlier.item IS NULL
ORDER BY earlier.id DESC
LIMIT 1
