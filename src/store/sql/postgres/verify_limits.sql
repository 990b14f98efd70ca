-- Work that began before its limit was made smaller goes on, and breaks nothing.
SELECT limits.name, CAST(sum(CAST(held.value AS BIGINT)) AS BIGINT), limits.value
FROM attempt_lease
CROSS JOIN LATERAL json_each_text(CAST(attempt_lease.limits AS JSON)) AS held
JOIN limits ON limits.name = held.key
LEFT JOIN attempt
    ON attempt.task_run_id = attempt_lease.task_run_id
    AND attempt.attempt_no = attempt_lease.attempt_no
WHERE attempt_lease.limits IS NOT NULL
GROUP BY limits.name, limits.value, limits.updated_at
HAVING sum(CAST(held.value AS BIGINT)) > limits.value
    AND count(*) > 1
    AND max(attempt.started_at) > limits.updated_at
ORDER BY limits.name
