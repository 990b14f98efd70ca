INSERT INTO schedule_binding (schedule_id, dag_id, task_id, params, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING
