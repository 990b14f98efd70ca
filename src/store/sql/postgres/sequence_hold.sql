-- Whoever makes runs changes this row, and waits for whoever holds it.
SELECT run FROM sequence WHERE "only" = 1 FOR UPDATE
