SELECT task_run.task_id, run.id, run.backfill_id
FROM backfill
JOIN backfill_run AS place ON place.backfill_id = backfill.id
JOIN run ON run.id = place.run_id
JOIN task_run ON task_run.run_id = run.id
WHERE backfill.finished_at IS NULL
    AND place.nominal_at = $1
    AND run.dag_id = $2
    AND run.finished_at IS NULL
    AND run.id <> $3
    AND task_run.finished_at IS NULL
ORDER BY run.id
