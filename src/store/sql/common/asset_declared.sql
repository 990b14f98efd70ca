SELECT 1 FROM asset_event WHERE asset = $1 AND biz_date = $2 AND task_run_id IS NULL LIMIT 1
