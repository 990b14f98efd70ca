UPDATE run SET scope_id = $1 WHERE id = $2 AND scope_id = $3
