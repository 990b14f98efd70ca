-- The dag is the one that was asked for; a backfill may have runs of others too.
SELECT
    backfill.id, coalesce(dag.key, ''), backfill.from_date, backfill.to_date, backfill.state,
    backfill.requested_by, backfill.created_at, backfill.finished_at, backfill.cancel_requested,
    backfill.scope_id
FROM backfill
LEFT JOIN dag ON dag.id = backfill.dag_id
WHERE backfill.scope_id IS NOT NULL
ORDER BY backfill.id DESC
