SELECT
    task.id, task.name, task.position, task.source, task.removed_at, task_version.id,
    task_version.version, task_version.content_hash, task.resource, task.resource_key
FROM task
JOIN task_version ON task_version.id = task.active_version_id
WHERE task.dag_id = $1
ORDER BY task.position, task.id
