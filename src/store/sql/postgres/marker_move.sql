UPDATE mainspring SET version = $1, deployment = coalesce(deployment, $2) WHERE "only" = 1
