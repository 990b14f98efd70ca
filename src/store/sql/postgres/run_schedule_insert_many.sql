INSERT INTO run_schedule (run_id, schedule_id)
SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]))
ON CONFLICT DO NOTHING
