-- Those asked for, and about how many there are in all.
SELECT count(*), coalesce((SELECT max(every.id) FROM run AS every), 0)
FROM run
WHERE {{conditions}}
