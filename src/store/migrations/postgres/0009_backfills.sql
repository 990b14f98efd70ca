-- Backfills: who decides for one, and what became of each run of its plan.

ALTER TABLE backfill ADD COLUMN scope_id BIGINT;
ALTER TABLE backfill ADD COLUMN hash TEXT COLLATE "C";
ALTER TABLE backfill ADD COLUMN cancel_requested SMALLINT NOT NULL DEFAULT 0
    CHECK (cancel_requested IN (0, 1));
CREATE INDEX backfill_open ON backfill (scope_id) WHERE finished_at IS NULL;
CREATE INDEX backfill_hash ON backfill (hash);

-- All of them are there from the beginning, so that a gap is seen.
CREATE TABLE backfill_run (
    backfill_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL CHECK (ordinal >= 0),
    dag TEXT COLLATE "C" NOT NULL,
    nominal_at BIGINT NOT NULL,
    biz_date TEXT COLLATE "C" NOT NULL CHECK (length(biz_date) = 10),
    run_id BIGINT,
    -- Why there is no run.
    note TEXT COLLATE "C",
    PRIMARY KEY (backfill_id, ordinal),
    CHECK (run_id IS NULL OR note IS NULL)
);
CREATE INDEX run_backfill ON run (backfill_id) WHERE backfill_id IS NOT NULL;
