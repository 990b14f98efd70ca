INSERT INTO run_schedule (run_id, schedule_id) VALUES ($1, $2) ON CONFLICT DO NOTHING
