-- Rights on our tables that this user does not have. Partitions need none: they are reached by
-- their parents.
SELECT pg_class.relname || ': ' || string_agg(wanted.word, ', ' ORDER BY wanted.word)
FROM pg_catalog.pg_class
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pg_class.relnamespace
CROSS JOIN unnest(CAST($2 AS TEXT[])) AS wanted (word)
WHERE pg_namespace.nspname = $1
    AND pg_class.relkind IN ('r', 'p')
    AND NOT pg_class.relispartition
    AND NOT has_table_privilege(pg_class.oid, wanted.word)
GROUP BY pg_class.relname
ORDER BY pg_class.relname
