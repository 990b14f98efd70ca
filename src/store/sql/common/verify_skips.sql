SELECT schedule_id, from_at, to_at FROM skip ORDER BY schedule_id, from_at, to_at
