-- Columns, conditions and limit are put in. The order is that of the rows: nothing is sorted.
SELECT {{columns}}
FROM attempt
CROSS JOIN task_run
LEFT JOIN run ON run.id = task_run.run_id
WHERE task_run.id = attempt.task_run_id AND {{conditions}}
ORDER BY attempt.id DESC
LIMIT {{limit}}
