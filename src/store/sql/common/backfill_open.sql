SELECT id FROM backfill WHERE finished_at IS NULL AND scope_id IS NOT NULL ORDER BY id
