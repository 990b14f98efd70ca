INSERT INTO outbox (event, run_id, task_run_id, payload, created_at)
SELECT $1, $2, $3, $4, $5
WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE task_run_id = $3 AND event = $1)
