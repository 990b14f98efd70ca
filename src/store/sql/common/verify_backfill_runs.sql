SELECT run.id, coalesce(run.backfill_id, 0), dag.key, run.nominal_at, run.biz_date, run.task_count
FROM run
JOIN dag ON dag.id = run.dag_id
WHERE run.backfill_id IS NOT NULL
ORDER BY run.id
