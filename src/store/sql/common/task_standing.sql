SELECT task.id, task.dag_id, task.position, task.source, active.version, registered.version
FROM task
JOIN task_version AS active ON active.id = task.active_version_id
JOIN task_version AS registered ON registered.id = task.registered_version_id
WHERE task.key = $1 AND task.removed_at IS NULL
