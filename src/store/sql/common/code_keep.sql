UPDATE task_version SET code = $1
WHERE (code IS NULL OR code <> $1)
    AND id IN (
        SELECT task.registered_version_id
        FROM task
        WHERE task.removed_at IS NULL AND task.dag_id = (SELECT id FROM dag WHERE dag.key = $2)
    )
