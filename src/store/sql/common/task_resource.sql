UPDATE task SET resource = $1, resource_key = $2 WHERE id = $3
