UPDATE node SET stopped_at = $1, heartbeat_at = $1, lease_until = $1
WHERE id = $2 AND stopped_at IS NULL
