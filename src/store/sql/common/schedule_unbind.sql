DELETE FROM schedule_binding WHERE schedule_id = $1
