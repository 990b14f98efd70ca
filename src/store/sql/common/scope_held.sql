SELECT 1 FROM scope WHERE id = $1 AND epoch = $2 AND node_id = $3
