-- No attempt with a lower id began at that instant or later: each of those has ended since, or is live.
SELECT min(first)
FROM (
    -- The sign keeps the planner from reading the table by its ids up to the first that fits.
    SELECT min(+attempt.id) AS first
    FROM attempt
    WHERE attempt.finished_at IS NOT NULL AND attempt.finished_at >= $1
    UNION ALL
    SELECT min(+attempt.id)
    FROM attempt_lease
    CROSS JOIN attempt
    WHERE attempt.task_run_id = attempt_lease.task_run_id
        AND attempt.attempt_no = attempt_lease.attempt_no
) AS firsts
