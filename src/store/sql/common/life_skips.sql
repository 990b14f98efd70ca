SELECT schedule_id, from_at, to_at, count, reason
FROM skip
WHERE schedule_id = $1
ORDER BY to_at DESC, id DESC
LIMIT $2
