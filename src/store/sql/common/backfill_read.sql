SELECT id, plan, state, requested_by, created_at, finished_at, cancel_requested, scope_id
FROM backfill
WHERE id = $1
