SELECT id, reason
FROM skip
WHERE schedule_id = $1 AND to_at < $2
ORDER BY to_at DESC, id DESC
LIMIT 1
