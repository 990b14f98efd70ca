SELECT
    attempt_lease.task_run_id, attempt_lease.attempt_no, attempt_lease.token,
    attempt_lease.node_id, attempt_lease.pool, attempt_lease.slots, attempt_lease.stop_reason,
    attempt_lease.limits
FROM task_run
JOIN attempt_lease ON attempt_lease.task_run_id = task_run.id
WHERE task_run.run_id = $1
ORDER BY attempt_lease.task_run_id
