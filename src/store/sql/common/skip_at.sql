SELECT reason FROM skip WHERE schedule_id = $1 AND to_at = $2 ORDER BY id DESC LIMIT 1
