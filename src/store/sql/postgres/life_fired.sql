SELECT run.nominal_at, run.id
FROM schedule
JOIN run ON run.dag_id = schedule.dag_id
JOIN run_schedule ON run_schedule.run_id = run.id AND run_schedule.schedule_id = schedule.id
WHERE schedule.id = $1 AND run.timed = 1
ORDER BY run.nominal_at DESC, run.id DESC
LIMIT $2
