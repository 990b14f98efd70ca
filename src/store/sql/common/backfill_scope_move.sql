UPDATE backfill SET scope_id = $1 WHERE id = $2 AND scope_id = $3
RETURNING CASE WHEN finished_at IS NULL THEN 1 ELSE 0 END
