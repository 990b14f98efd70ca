SELECT
    (SELECT slots FROM pool WHERE name = $1),
    (SELECT CAST(coalesce(sum(slots), 0) AS BIGINT) FROM attempt_lease WHERE pool = $1),
    (SELECT count(*) FROM attempt_lease WHERE pool = $1 AND slots > 0)
