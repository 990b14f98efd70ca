SELECT DISTINCT run.scope_id
FROM run
WHERE run.finished_at IS NULL
