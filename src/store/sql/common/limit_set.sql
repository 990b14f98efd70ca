INSERT INTO limits (name, kind, value, created_at, updated_at) VALUES ($1, 'slots', $2, $3, $3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
WHERE limits.value <> excluded.value
