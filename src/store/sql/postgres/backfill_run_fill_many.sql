UPDATE backfill_run SET run_id = filled.run_id, note = filled.note
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]))
    AS filled (backfill_id, ordinal, run_id, note)
WHERE backfill_run.backfill_id = filled.backfill_id
    AND backfill_run.ordinal = filled.ordinal
    AND backfill_run.run_id IS NULL
RETURNING backfill_run.backfill_id, backfill_run.ordinal
