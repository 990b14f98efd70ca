UPDATE task SET
    registered_version_id = $1, position = $2, source = $3, updated_at = $4, removed_at = NULL
WHERE id = $5
