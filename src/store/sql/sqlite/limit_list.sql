SELECT
    limits.name,
    limits.value,
    (
        SELECT coalesce(sum(held.value), 0)
        FROM attempt_lease, json_each(attempt_lease.limits) AS held
        WHERE attempt_lease.limits IS NOT NULL AND held.key = limits.name
    )
FROM limits
