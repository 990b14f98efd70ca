SELECT
    task.id, task.name, task.position, task.source, task.removed_at, task_version.id,
    task_version.version, task_version.content_hash, task.resource, task.resource_key,
    task_release.id
FROM task
JOIN task_version ON task_version.id = task.registered_version_id
LEFT JOIN task_release ON task_release.task_id = task.id AND task_release.ended_at IS NULL
WHERE task.dag_id = $1
ORDER BY task.position, task.id
