INSERT INTO attempt_lease (
    task_run_id, attempt_no, token, node_id, pool, slots, limits
)
SELECT *
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
    CAST($5 AS TEXT[]), CAST($6 AS BIGINT[]), CAST($7 AS TEXT[])
)
ON CONFLICT DO NOTHING
RETURNING task_run_id
