SELECT task.id, task.name
FROM task
ORDER BY task.id
