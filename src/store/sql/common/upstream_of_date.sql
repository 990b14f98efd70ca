SELECT run_id, id, nominal_at, state, code, blocked_by, result, result_uri, attempt_no,
    unchanged
FROM task_run
WHERE task_id = $1 AND biz_date = $2 AND (code IS NULL OR code <> $3)
ORDER BY nominal_at, run_id, map_index DESC
