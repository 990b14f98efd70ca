SELECT from_at, until_at, kind, rule
FROM schedule_period
WHERE schedule_id = $1
ORDER BY from_at, id
