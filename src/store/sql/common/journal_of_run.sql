SELECT entries FROM journal WHERE run_id = $1 ORDER BY id
