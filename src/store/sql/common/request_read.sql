SELECT id, scope_id, payload, requested_by, requested_at, decided_at, answer
FROM request
WHERE id = $1
