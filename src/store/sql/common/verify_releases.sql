SELECT 'task ' || task.key || ' has ' || count(*) || ' open releases'
FROM task_release
JOIN task ON task.id = task_release.task_id
WHERE task_release.ended_at IS NULL
GROUP BY task.id
HAVING count(*) > 1
UNION ALL
SELECT 'release ' || task_release.id || ' is of no version of its task'
FROM task_release
WHERE NOT EXISTS (
    SELECT 1
    FROM task_version
    WHERE task_version.id = task_release.version_id
        AND task_version.task_id = task_release.task_id
)
UNION ALL
SELECT 'the other version of release ' || task_release.id || ' is none of its task'
FROM task_release
WHERE task_release.base_version_id IS NOT NULL
    AND NOT EXISTS (
        SELECT 1
        FROM task_version
        WHERE task_version.id = task_release.base_version_id
            AND task_version.task_id = task_release.task_id
    )
UNION ALL
SELECT 'task ' || task.key || ' does not run what its release ' || task_release.id || ' says'
FROM task_release
JOIN task ON task.id = task_release.task_id
WHERE task_release.ended_at IS NULL
    AND task.active_version_id
        <> coalesce(task_release.base_version_id, task_release.version_id)
UNION ALL
SELECT 'task ' || task.key || ' runs another version than was registered last, without a release'
FROM task
WHERE task.active_version_id <> task.registered_version_id
    AND NOT EXISTS (
        SELECT 1
        FROM task_release
        WHERE task_release.task_id = task.id AND task_release.ended_at IS NULL
    )
