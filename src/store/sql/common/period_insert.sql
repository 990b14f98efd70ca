INSERT INTO schedule_period (schedule_id, from_at, kind, rule) VALUES ($1, $2, $3, $4)
