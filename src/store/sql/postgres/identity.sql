-- What there is, and what this user may do, before anything is changed.
SELECT
    CAST(current_setting('server_version_num') AS BIGINT),
    named.oid IS NOT NULL,
    (
        SELECT count(*)
        FROM pg_catalog.pg_class
        WHERE pg_class.relnamespace = named.oid AND pg_class.relkind IN ('r', 'p', 'v', 'm', 'f')
    ),
    (
        SELECT pg_class.oid IS NOT NULL AND has_table_privilege(pg_class.oid, 'SELECT')
        FROM pg_catalog.pg_class
        WHERE pg_class.relnamespace = named.oid AND pg_class.relname = 'mainspring'
    ),
    has_database_privilege(current_database(), 'CREATE'),
    CASE WHEN named.oid IS NOT NULL THEN has_schema_privilege(named.oid, 'USAGE') END,
    CASE WHEN named.oid IS NOT NULL THEN has_schema_privilege(named.oid, 'CREATE') END,
    CAST(current_user AS TEXT),
    CAST(current_database() AS TEXT)
FROM (SELECT CAST($1 AS TEXT) AS name) AS asked
LEFT JOIN pg_catalog.pg_namespace AS named ON named.nspname = asked.name
