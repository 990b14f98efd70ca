INSERT INTO run (
    id, dag_id, nominal_at, biz_date, interval_start, interval_end, timezone, "trigger", timed,
    interactive, requested_by, params, state, created_at, finished_at, scope_id,
    first_task_run_id, task_count, schedule_id, task_id, variant, backfill_id
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
    $20, $21, $22)
