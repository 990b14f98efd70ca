-- The number of this transaction if it has written something, by which the server knows later what became of it.
SELECT CAST(CAST(pg_current_xact_id_if_assigned() AS TEXT) AS BIGINT)
