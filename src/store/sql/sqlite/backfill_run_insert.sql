INSERT INTO backfill_run (backfill_id, ordinal, dag, nominal_at, biz_date, run_id, note)
VALUES ($1, $2, $3, $4, $5, NULL, NULL)
