-- Of task runs and states, one that does not stand there.
SELECT asked.id
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[])) WITH ORDINALITY AS asked (id, state, nth)
WHERE NOT EXISTS (
    SELECT 1 FROM task_run WHERE task_run.id = asked.id AND task_run.state = asked.state
)
ORDER BY asked.nth
LIMIT 1
