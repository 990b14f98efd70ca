SELECT asset FROM task_asset
UNION
SELECT dependency.asset
FROM dependency
JOIN task ON task.id = dependency.task_id AND task.active_version_id = dependency.task_version_id
WHERE dependency.asset IS NOT NULL
