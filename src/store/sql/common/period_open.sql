SELECT id, from_at, kind, rule FROM schedule_period WHERE schedule_id = $1 AND until_at IS NULL
