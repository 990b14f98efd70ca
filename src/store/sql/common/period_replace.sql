UPDATE schedule_period SET kind = $1, rule = $2 WHERE id = $3
