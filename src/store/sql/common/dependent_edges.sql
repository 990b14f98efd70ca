SELECT dependency.task_id, dependency.offset_from, dependency.offset_to, dependency.offset_unit
FROM dependency
JOIN task ON task.id = dependency.task_id AND task.active_version_id = dependency.task_version_id
LEFT JOIN task_asset
    ON task_asset.asset = dependency.asset AND task_asset.task_id = $1
WHERE (dependency.upstream_task_id = $1 OR task_asset.task_id IS NOT NULL)
    AND dependency.kind <> $2 AND task.removed_at IS NULL
ORDER BY dependency.id
