SELECT run_schedule.schedule_id, run.nominal_at, run.id
FROM run_schedule
JOIN run ON run.id = run_schedule.run_id
WHERE run.timed = 1
ORDER BY run_schedule.run_id, run_schedule.schedule_id
