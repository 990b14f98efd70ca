SELECT task.id, dag.id, dag.key, task.name
FROM task
JOIN dag ON dag.id = task.dag_id
ORDER BY task.id
