INSERT INTO backfill (
    id, dag_id, from_date, to_date, plan, params, state, requested_by, created_at, finished_at,
    scope_id, hash, cancel_requested
)
VALUES (
    $1, coalesce((SELECT dag.id FROM dag WHERE dag.key = $2), 0), $3, $4, $5, $6, $7, $8, $9, $10,
    $11, $12, $13
)
