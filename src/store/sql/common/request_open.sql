SELECT id, scope_id, payload, requested_by, requested_at, decided_at, answer
FROM request
WHERE scope_id = $1 AND decided_at IS NULL
ORDER BY id
LIMIT $2
