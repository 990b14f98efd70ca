-- Timed runs that are there already, with the place of their key among those asked for.
SELECT run.id, asked.nth
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[])
) WITH ORDINALITY AS asked (dag_id, task_id, nominal_at, variant, nth)
JOIN run
    ON run.dag_id = asked.dag_id
    AND coalesce(run.task_id, 0) = asked.task_id
    AND run.nominal_at = asked.nominal_at
    AND run.variant = asked.variant
WHERE run.timed = 1
ORDER BY asked.nth
LIMIT 1
