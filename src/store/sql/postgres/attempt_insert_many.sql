INSERT INTO attempt (
    id, task_run_id, attempt_no, token, nominal_at, task_version_id, node_id, started_at
)
SELECT *
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
    CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[])
)
ON CONFLICT DO NOTHING
RETURNING task_run_id
