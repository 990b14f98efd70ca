INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, pool, slots, limits)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
