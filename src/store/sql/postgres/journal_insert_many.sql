INSERT INTO journal (run_id, entries)
SELECT asked.run_id, asked.entries
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BYTEA[])) WITH ORDINALITY
    AS asked (run_id, entries, nth)
ORDER BY asked.nth
