SELECT
    (SELECT value FROM limits WHERE name = $1),
    coalesce(sum(held.value), 0),
    count(*)
FROM attempt_lease, json_each(attempt_lease.limits) AS held
WHERE attempt_lease.limits IS NOT NULL AND held.key = $1
