SELECT asset FROM task_asset WHERE task_id = $1 ORDER BY asset
