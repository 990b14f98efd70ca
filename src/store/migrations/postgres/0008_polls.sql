-- How often a probe was asked in an attempt.
ALTER TABLE attempt ADD COLUMN polls BIGINT CHECK (polls >= 0);
