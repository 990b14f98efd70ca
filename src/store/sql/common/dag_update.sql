UPDATE dag SET
    title = $1, doc = $2, owner = $3, labels = $4, timezone = $5, max_active_runs = $6,
    source_file = $7, definition = $8, updated_at = $9, revision = revision + 1, removed_at = NULL
WHERE id = $10
