SELECT dag_id, nominal_at, count(*)
FROM run
WHERE timed = 1
GROUP BY dag_id, coalesce(task_id, 0), nominal_at, variant
HAVING count(*) > 1
ORDER BY dag_id, nominal_at
