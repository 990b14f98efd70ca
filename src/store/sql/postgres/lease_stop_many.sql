UPDATE attempt_lease SET stop_reason = asked.reason
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[])) AS asked (id, reason)
WHERE attempt_lease.task_run_id = asked.id
