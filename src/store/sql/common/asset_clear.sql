DELETE FROM task_asset WHERE task_id = $1
