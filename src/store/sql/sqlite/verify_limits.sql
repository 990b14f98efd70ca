-- Work that began before its limit was made smaller goes on, and breaks nothing.
SELECT limits.name, sum(held.value), limits.value
FROM attempt_lease, json_each(attempt_lease.limits) AS held
JOIN limits ON limits.name = held.key
LEFT JOIN attempt
    ON attempt.task_run_id = attempt_lease.task_run_id
    AND attempt.attempt_no = attempt_lease.attempt_no
WHERE attempt_lease.limits IS NOT NULL
GROUP BY limits.name, limits.value, limits.updated_at
HAVING sum(held.value) > limits.value
    AND count(*) > 1
    AND max(attempt.started_at) > limits.updated_at
ORDER BY limits.name
