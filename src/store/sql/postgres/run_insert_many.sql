INSERT INTO run (
    id, dag_id, nominal_at, biz_date, interval_start, interval_end, timezone, "trigger", timed,
    interactive, requested_by, params, state, created_at, finished_at, scope_id,
    first_task_run_id, task_count, schedule_id, task_id, variant, backfill_id
)
SELECT *
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]),
    CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),
    CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), CAST($11 AS TEXT[]), CAST($12 AS TEXT[]),
    CAST($13 AS TEXT[]), CAST($14 AS BIGINT[]), CAST($15 AS BIGINT[]), CAST($16 AS BIGINT[]),
    CAST($17 AS BIGINT[]), CAST($18 AS BIGINT[]), CAST($19 AS BIGINT[]), CAST($20 AS BIGINT[]),
    CAST($21 AS TEXT[]), CAST($22 AS BIGINT[])
)
