SELECT from_at, to_at FROM skip WHERE schedule_id = $1 AND to_at > $2 ORDER BY from_at, to_at
