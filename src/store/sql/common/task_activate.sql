UPDATE task SET
    active_version_id = $1, registered_version_id = $1, type = $2, owner = $3, labels = $4,
    category = $5, resource = $6, resource_key = $7, position = $8, source = $9, updated_at = $10,
    removed_at = NULL
WHERE id = $11
