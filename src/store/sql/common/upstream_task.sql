SELECT task.id, task.dag_id, task.name, task.created_at, task.removed_at, dag.removed_at, dag.definition,
    task.type
FROM task
JOIN dag ON dag.id = task.dag_id
WHERE task.key = $1
