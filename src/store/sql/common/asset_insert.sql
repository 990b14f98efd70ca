INSERT INTO task_asset (task_id, asset) VALUES ($1, $2)
