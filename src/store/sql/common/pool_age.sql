UPDATE pool SET ageing_ms = $1 WHERE name = $2
