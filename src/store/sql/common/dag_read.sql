SELECT id, definition, revision, removed_at FROM dag WHERE key = $1
