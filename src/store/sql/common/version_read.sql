SELECT
    task.id, task_version.id, task_version.version, task_version.definition,
    CASE WHEN task.registered_version_id = task_version.id THEN task.source END,
    task.enabled
FROM task_version
JOIN task ON task.id = task_version.task_id
WHERE task_version.id = $1
