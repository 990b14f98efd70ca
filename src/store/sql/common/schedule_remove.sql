UPDATE schedule SET removed_at = $1, updated_at = $1 WHERE id = $2
