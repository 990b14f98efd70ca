SELECT
    task.active_version_id, task_release.version_id, task_release.percent,
    task_release.from_biz_date, task.id
FROM task
JOIN task_release ON task_release.task_id = task.id AND task_release.ended_at IS NULL
WHERE task.dag_id = $1
ORDER BY task.position, task.id
