SELECT pg_advisory_xact_lock(hashtext('mainspring'), hashtext($1))
