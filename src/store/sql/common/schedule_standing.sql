SELECT dag_id, paused FROM schedule WHERE id = $1 AND removed_at IS NULL
