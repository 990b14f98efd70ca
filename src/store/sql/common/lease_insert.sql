INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, pool, slots)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
