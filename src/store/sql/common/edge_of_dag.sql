SELECT task.key, coalesce(upstream.key, producer.key), dependency.kind, dependency.offset_to
FROM task
LEFT JOIN task_release ON task_release.task_id = task.id AND task_release.ended_at IS NULL
LEFT JOIN dependency
    ON dependency.task_version_id IN (task.active_version_id, task_release.version_id)
LEFT JOIN task AS upstream
    ON upstream.id = dependency.upstream_task_id AND upstream.removed_at IS NULL
LEFT JOIN task_asset ON task_asset.asset = dependency.asset
LEFT JOIN task AS producer
    ON producer.id = task_asset.task_id AND producer.removed_at IS NULL
WHERE task.dag_id = (SELECT id FROM dag WHERE dag.key = $1) AND task.removed_at IS NULL
ORDER BY task.position, task.id, dependency.id
