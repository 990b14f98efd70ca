-- Open ones, and those that have ended and hold something that time alone will change: these are
-- few, and found by an index of their own.
SELECT id FROM run WHERE scope_id = $1 AND finished_at IS NULL
UNION
SELECT run.id
FROM task_run
CROSS JOIN run
WHERE run.id = task_run.run_id
    AND run.scope_id = $1
    AND task_run.finished_at IS NULL
    AND (
        task_run.blocked_until IS NOT NULL
        OR task_run.deadline_at IS NOT NULL AND task_run.overdue_at IS NULL
    )
ORDER BY id
