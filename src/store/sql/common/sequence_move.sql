UPDATE sequence SET run = $1, task_run = $2, attempt = $3 WHERE "only" = 1
