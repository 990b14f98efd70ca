DELETE FROM attempt_lease
WHERE node_id = $1
    AND EXISTS (
        SELECT 1 FROM attempt
        WHERE attempt.task_run_id = attempt_lease.task_run_id
            AND attempt.attempt_no = attempt_lease.attempt_no
            AND attempt.outcome IS NOT NULL
    )
