-- Backfills: who decides for one, and what became of each run of its plan.

ALTER TABLE backfill ADD COLUMN scope_id INTEGER;
ALTER TABLE backfill ADD COLUMN hash TEXT;
ALTER TABLE backfill ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0
    CHECK (cancel_requested IN (0, 1));
CREATE INDEX backfill_open ON backfill (scope_id) WHERE finished_at IS NULL;
CREATE INDEX backfill_hash ON backfill (hash);

-- All of them are there from the beginning, so that a gap is seen.
CREATE TABLE backfill_run (
    backfill_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    dag TEXT NOT NULL,
    nominal_at INTEGER NOT NULL,
    biz_date TEXT NOT NULL CHECK (length(biz_date) = 10),
    run_id INTEGER,
    -- Why there is no run.
    note TEXT,
    PRIMARY KEY (backfill_id, ordinal),
    CHECK (run_id IS NULL OR note IS NULL)
) WITHOUT ROWID;
CREATE INDEX run_backfill ON run (backfill_id) WHERE backfill_id IS NOT NULL;
