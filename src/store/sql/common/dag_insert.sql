INSERT INTO dag (
    key, title, doc, owner, labels, timezone, max_active_runs, source_file, definition, revision,
    created_at, updated_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $10)
RETURNING id
