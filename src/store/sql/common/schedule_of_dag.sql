SELECT id, definition, paused, position, removed_at
FROM schedule
WHERE dag_id = $1
ORDER BY position, id
