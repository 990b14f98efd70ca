SELECT id FROM backfill WHERE scope_id IS NOT NULL ORDER BY id
