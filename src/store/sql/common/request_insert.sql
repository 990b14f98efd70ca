INSERT INTO request (kind, scope_id, run_id, payload, requested_by, requested_at)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING id
