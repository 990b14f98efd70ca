-- Conditions are put in where there are any.
SELECT
    run.id, run.dag_id, dag.key, run.nominal_at, run.biz_date, run.interval_start,
    run.interval_end, run.timezone, run."trigger", run.timed, run.interactive, run.requested_by,
    run.params, run.state, run.created_at, run.finished_at, run.scope_id, run.first_task_run_id,
    run.task_count, run.schedule_id, run.cancel_requested, run.task_id, run.variant,
    run.backfill_id
FROM run
JOIN dag ON dag.id = run.dag_id
WHERE {{conditions}}
ORDER BY run.id DESC
LIMIT {{limit}}
