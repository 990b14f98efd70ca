SELECT task.id, dag.key
FROM task
JOIN dag ON dag.id = task.dag_id
ORDER BY task.id
