UPDATE node SET heartbeat_at = $1, lease_until = $2 WHERE id = $3
