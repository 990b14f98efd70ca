-- What the output of a task run can be told by, and whether it is that of the success before.
ALTER TABLE task_run ADD COLUMN fingerprint TEXT COLLATE "C";
ALTER TABLE task_run ADD COLUMN unchanged SMALLINT NOT NULL DEFAULT 0 CHECK (unchanged IN (0, 1));
