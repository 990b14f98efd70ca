INSERT INTO pool (name, slots, created_at, updated_at) VALUES ($1, $2, $3, $3)
ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, updated_at = excluded.updated_at
WHERE pool.slots <> excluded.slots
