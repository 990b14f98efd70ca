UPDATE request SET decided_at = $1, answer = $2 WHERE id = $3 AND decided_at IS NULL
