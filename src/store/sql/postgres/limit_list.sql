SELECT
    limits.name,
    limits.value,
    (
        SELECT CAST(coalesce(sum(CAST(held.value AS BIGINT)), 0) AS BIGINT)
        FROM attempt_lease
        CROSS JOIN LATERAL json_each_text(CAST(attempt_lease.limits AS JSON)) AS held
        WHERE attempt_lease.limits IS NOT NULL AND held.key = limits.name
    )
FROM limits
