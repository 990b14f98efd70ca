SELECT id FROM task WHERE key = $1
