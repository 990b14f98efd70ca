-- Differs as soon as any transaction of the server has ended that wrote something.
SELECT CAST(pg_current_snapshot() AS TEXT)
