SELECT
    pool.name,
    pool.slots,
    (SELECT coalesce(sum(slots), 0) FROM attempt_lease WHERE attempt_lease.pool = pool.name)
FROM pool
