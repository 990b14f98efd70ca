-- Attempts of some dags or business dates, by the indexes of runs. Only their ids: sorting whole
-- rows would cost more than reading them one by one.
SELECT attempt.id
FROM run
CROSS JOIN task_run ON task_run.run_id = run.id
CROSS JOIN attempt ON attempt.task_run_id = task_run.id
WHERE {{conditions}}
