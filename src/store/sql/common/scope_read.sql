SELECT id, epoch, node_id FROM scope WHERE id = $1
