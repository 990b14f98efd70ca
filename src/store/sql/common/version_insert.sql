INSERT INTO task_version (
    task_id, version, content_hash, definition, type, handler, config, params, param_schema,
    max_attempts, max_losses, retry_interval_ms, retry_backoff, retry_cap_ms, retry_on,
    timeout_ms, grace_ms, idempotent, dedup_key, priority, preemptible, pool, slots, resource,
    resource_key, ext, code_hash, not_before, run_on, created_at, deadline, max_active
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32
)
RETURNING id
