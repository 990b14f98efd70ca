-- Columns, conditions and limit are put in.
SELECT {{columns}}
FROM run
WHERE {{conditions}}
ORDER BY run.id DESC
LIMIT {{limit}}
