SELECT id, definition, revision FROM dag WHERE key = $1
