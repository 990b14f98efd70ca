SELECT task.key
FROM task_asset
JOIN task ON task.id = task_asset.task_id
WHERE task_asset.asset = $1 AND task.removed_at IS NULL
ORDER BY task.id
LIMIT 1
