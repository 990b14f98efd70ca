SELECT key FROM dag WHERE removed_at IS NULL ORDER BY key
