SELECT name, ageing_ms FROM pool WHERE ageing_ms IS NOT NULL
