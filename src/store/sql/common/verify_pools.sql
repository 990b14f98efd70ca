-- Work that began before its pool was made smaller goes on, and breaks nothing.
SELECT
    attempt_lease.pool, CAST(sum(attempt_lease.slots) AS BIGINT), coalesce(pool.slots, 0)
FROM attempt_lease
LEFT JOIN pool ON pool.name = attempt_lease.pool
LEFT JOIN attempt
    ON attempt.task_run_id = attempt_lease.task_run_id
    AND attempt.attempt_no = attempt_lease.attempt_no
WHERE attempt_lease.pool IS NOT NULL AND attempt_lease.slots > 0
GROUP BY attempt_lease.pool, pool.slots, pool.updated_at
HAVING sum(attempt_lease.slots) > coalesce(pool.slots, 0)
    AND count(*) > 1
    AND max(attempt.started_at) > coalesce(pool.updated_at, 0)
ORDER BY attempt_lease.pool
