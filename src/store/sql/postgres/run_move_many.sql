UPDATE run SET
    state = asked.into_state, finished_at = asked.finished_at, cancel_requested = asked.cancel
FROM unnest(
    CAST($1 AS BIGINT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[]), CAST($4 AS BIGINT[]),
    CAST($5 AS BIGINT[])
) AS asked (id, from_state, into_state, finished_at, cancel)
WHERE run.id = asked.id AND run.state = asked.from_state
RETURNING run.id
