UPDATE scope SET epoch = epoch + 1, node_id = $1 WHERE id = $2
