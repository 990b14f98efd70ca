SELECT run_id, id, nominal_at, state, code, blocked_by, result, result_uri, attempt_no,
    unchanged
FROM task_run AS ended
WHERE task_id = $1 AND finished_at > $2
    AND NOT EXISTS (
        SELECT 1 FROM run
        WHERE run.dag_id = $3 AND run.nominal_at = ended.nominal_at AND run.timed = 1
    )
    AND NOT EXISTS (
        SELECT 1 FROM task_run AS newer
        WHERE newer.task_id = ended.task_id AND newer.nominal_at = ended.nominal_at
            AND (newer.run_id > ended.run_id
                OR newer.run_id = ended.run_id AND newer.map_index < ended.map_index)
            AND (newer.code IS NULL OR newer.code <> $4)
    )
    AND (code IS NULL OR code <> $4)
    AND run_id IN (SELECT journal.run_id FROM journal WHERE journal.id > $5)
ORDER BY nominal_at
