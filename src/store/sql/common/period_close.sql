UPDATE schedule_period SET until_at = $1 WHERE id = $2
