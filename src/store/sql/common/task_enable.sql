UPDATE task SET enabled = $1, enabled_by = $2, enabled_at = $3, updated_at = $3
WHERE id = $4 AND enabled <> $1
