SELECT id FROM backfill WHERE scope_id = $1 AND finished_at IS NULL ORDER BY id
