SELECT id, revision FROM dag WHERE removed_at IS NULL ORDER BY id
