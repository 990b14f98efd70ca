SELECT schedule_id, from_at, until_at FROM schedule_period ORDER BY schedule_id, from_at, id
