SELECT
    task_version.version, task_version.created_at, task_version.type, task_version.handler,
    task_version.code_hash, task_version.id = task.active_version_id,
    task_version.id = task.registered_version_id,
    CASE WHEN task_version.id = task.registered_version_id THEN task.source END
FROM task
JOIN task_version ON task_version.task_id = task.id
WHERE task.key = $1
ORDER BY task_version.version DESC
