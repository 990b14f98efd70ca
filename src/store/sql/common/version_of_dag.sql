SELECT
    task.id, task_version.id, task_version.version, task_version.definition,
    CASE WHEN task.registered_version_id = task_version.id THEN task.source END,
    task.enabled
FROM task
JOIN task_version ON task_version.id = task.active_version_id
WHERE task.dag_id = $1 AND task.removed_at IS NULL
ORDER BY task.position, task.id
