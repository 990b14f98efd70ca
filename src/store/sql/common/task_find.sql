SELECT id, dag_id FROM task WHERE key = $1 AND removed_at IS NULL
