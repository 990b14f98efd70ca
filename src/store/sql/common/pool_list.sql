SELECT
    pool.name,
    pool.slots,
    (
        SELECT CAST(coalesce(sum(slots), 0) AS BIGINT)
        FROM attempt_lease
        WHERE attempt_lease.pool = pool.name
    )
FROM pool
