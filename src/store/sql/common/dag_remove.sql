UPDATE dag SET removed_at = $1, updated_at = $1, revision = revision + 1
WHERE key = $2 AND removed_at IS NULL
RETURNING id
