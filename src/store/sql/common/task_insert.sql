INSERT INTO task (
    dag_id, key, name, labels, active_version_id, type, position, created_at, updated_at
)
VALUES ($1, $2, $3, '[]', 0, $4, 0, $5, $5)
RETURNING id
