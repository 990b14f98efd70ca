SELECT 'run ' || run.id || ' has no dag'
FROM run
WHERE NOT EXISTS (SELECT 1 FROM dag WHERE dag.id = run.dag_id)
UNION ALL
SELECT 'task run ' || task_run.id || ' has no run'
FROM task_run
WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.id = task_run.run_id)
UNION ALL
SELECT 'task run ' || task_run.id || ' has no task'
FROM task_run
WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.id = task_run.task_id)
UNION ALL
SELECT 'attempt ' || attempt.attempt_no || ' of task run ' || attempt.task_run_id || ' has none'
FROM attempt
WHERE NOT EXISTS (SELECT 1 FROM task_run WHERE task_run.id = attempt.task_run_id)
UNION ALL
SELECT 'the lease of task run ' || attempt_lease.task_run_id || ' has none'
FROM attempt_lease
WHERE NOT EXISTS (SELECT 1 FROM task_run WHERE task_run.id = attempt_lease.task_run_id)
UNION ALL
SELECT 'a journal row of run ' || journal.run_id || ' has none'
FROM journal
WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.id = journal.run_id)
UNION ALL
SELECT 'task ' || task.key || ' has no active version'
FROM task
WHERE NOT EXISTS (SELECT 1 FROM task_version WHERE task_version.id = task.active_version_id)
UNION ALL
SELECT 'an edge of task version ' || dependency.task_version_id || ' has no upstream'
FROM dependency
WHERE dependency.asset IS NULL
    AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = dependency.upstream_task_id)
UNION ALL
SELECT 'the run ' || run_schedule.run_id || ' of schedule ' || run_schedule.schedule_id || ' is gone'
FROM run_schedule
WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.id = run_schedule.run_id)
UNION ALL
SELECT 'the schedule ' || run_schedule.schedule_id || ' of run ' || run_schedule.run_id || ' is gone'
FROM run_schedule
WHERE NOT EXISTS (SELECT 1 FROM schedule WHERE schedule.id = run_schedule.schedule_id)
UNION ALL
SELECT 'the schedule ' || skip.schedule_id || ' of a skip is gone'
FROM skip
WHERE NOT EXISTS (SELECT 1 FROM schedule WHERE schedule.id = skip.schedule_id)
UNION ALL
SELECT 'the schedule ' || schedule_period.schedule_id || ' of a period is gone'
FROM schedule_period
WHERE NOT EXISTS (SELECT 1 FROM schedule WHERE schedule.id = schedule_period.schedule_id)
