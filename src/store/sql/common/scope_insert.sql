INSERT INTO scope (kind, epoch, node_id, created_at) VALUES ('own', 1, $1, $2) RETURNING id
