SELECT id FROM run WHERE dag_id = $1 AND nominal_at = $2 AND timed = 1
