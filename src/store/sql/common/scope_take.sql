UPDATE scope SET
    epoch = epoch + 1, node_id = CASE kind WHEN 'led' THEN node_id ELSE $1 END
WHERE id = $2 AND node_id <> $1 AND ($3 = 1 OR kind <> 'led')
