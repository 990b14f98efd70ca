SELECT
    task_release.id, task.key, released.version, task_release.percent, task_release.from_biz_date,
    base.version, task_release.created_by, task_release.created_at, task_release.ended_by,
    task_release.ended_at
FROM task
JOIN task_release ON task_release.task_id = task.id
JOIN task_version AS released ON released.id = task_release.version_id
LEFT JOIN task_version AS base ON base.id = task_release.base_version_id
WHERE task.dag_id = $1
ORDER BY task_release.id DESC
