SELECT
    node.id, node.host, node.pid, node.role, node.version, node.started_at, node.heartbeat_at,
    node.lease_until, node.stopped_at
FROM scope
JOIN node ON node.id = scope.node_id
WHERE scope.id = $1
