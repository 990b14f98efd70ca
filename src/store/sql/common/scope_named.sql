SELECT id, epoch, node_id FROM scope WHERE name = $1
