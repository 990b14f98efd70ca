UPDATE backfill_run SET run_id = $1, note = $2
WHERE backfill_id = $3 AND ordinal = $4 AND run_id IS NULL
