SELECT from_at, until_at, kind, rule
FROM schedule_period
WHERE schedule_id = $1 AND (until_at IS NULL OR until_at > $2)
ORDER BY from_at, id
