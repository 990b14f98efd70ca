INSERT INTO node (host, pid, role, version, started_at, heartbeat_at, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING id
