-- Attempts of some dags or business dates, by the indexes of runs. Only their ids: sorting whole
-- rows would cost more than reading them one by one.
SELECT attempt.id
FROM run
CROSS JOIN task_run
CROSS JOIN attempt
WHERE task_run.run_id = run.id AND attempt.task_run_id = task_run.id AND {{conditions}}
