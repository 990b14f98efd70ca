SELECT task_version.id, CAST(task_version.version AS TEXT)
FROM task_version
ORDER BY task_version.id
