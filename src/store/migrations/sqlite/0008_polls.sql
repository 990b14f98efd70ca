-- How often a probe was asked in an attempt.
ALTER TABLE attempt ADD COLUMN polls INTEGER CHECK (polls >= 0);
