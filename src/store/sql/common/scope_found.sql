INSERT INTO scope (kind, name, epoch, node_id, created_at) VALUES ('led', $1, 1, $2, $3)
RETURNING id
