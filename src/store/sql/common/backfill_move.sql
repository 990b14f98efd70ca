UPDATE backfill SET state = $1, finished_at = $2, cancel_requested = $3
WHERE id = $4 AND state = $5
