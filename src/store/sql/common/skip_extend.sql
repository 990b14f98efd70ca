UPDATE skip SET to_at = $1, count = count + $2 WHERE id = $3
