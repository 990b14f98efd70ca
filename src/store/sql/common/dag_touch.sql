UPDATE dag SET updated_at = $1, revision = revision + 1 WHERE id = $2
