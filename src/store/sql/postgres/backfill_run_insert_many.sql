INSERT INTO backfill_run (backfill_id, ordinal, dag, nominal_at, biz_date, run_id, note)
SELECT CAST($1 AS BIGINT), run.nth - 1, run.dag, run.nominal_at, run.biz_date, NULL, NULL
FROM unnest(CAST($2 AS TEXT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]))
    WITH ORDINALITY AS run (dag, nominal_at, biz_date, nth)
