SELECT earlier.created_at, earlier.definition
FROM task
JOIN task_version AS active ON active.id = task.active_version_id
JOIN task_version AS earlier ON earlier.task_id = task.id AND earlier.version <= active.version
WHERE task.id = $1
ORDER BY earlier.version DESC
