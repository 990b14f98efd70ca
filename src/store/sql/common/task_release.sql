UPDATE task SET
    active_version_id = $1, type = $2, owner = $3, labels = $4, category = $5, resource = $6,
    resource_key = $7, updated_at = $8
WHERE id = $9
