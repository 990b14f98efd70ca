INSERT INTO skip (schedule_id, from_at, to_at, count, reason, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
