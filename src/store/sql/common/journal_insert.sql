INSERT INTO journal (run_id, entries) VALUES ($1, $2)
