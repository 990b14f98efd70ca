SELECT id FROM schedule WHERE dag_id = $1 AND removed_at IS NULL ORDER BY id
