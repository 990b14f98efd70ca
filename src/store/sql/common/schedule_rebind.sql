UPDATE schedule_binding SET params = $1 WHERE schedule_id = $2 AND dag_id = $3
