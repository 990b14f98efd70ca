SELECT name, id FROM task WHERE dag_id = $1 AND removed_at IS NULL
