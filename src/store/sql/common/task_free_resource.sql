UPDATE task SET resource = NULL, resource_key = NULL WHERE dag_id = $1 AND resource IS NOT NULL
