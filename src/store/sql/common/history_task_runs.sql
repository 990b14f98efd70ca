-- Columns, conditions and limit are put in.
SELECT {{columns}}
FROM task_run
LEFT JOIN run ON run.id = task_run.run_id
WHERE {{conditions}}
ORDER BY task_run.id DESC
LIMIT {{limit}}
