SELECT dag.id, dag.key
FROM dag
ORDER BY dag.id
