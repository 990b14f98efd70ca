-- Versions that somebody chose: which a task's next runs take, and the history of such decisions.

-- What its dag file says; the active version is another one while a release is open.
ALTER TABLE task ADD COLUMN registered_version_id INTEGER;
UPDATE task SET registered_version_id = active_version_id;

-- Content of the file with which it was registered last. Not content of the version: it may change.
ALTER TABLE task_version ADD COLUMN code TEXT;

-- Never deleted: who decided what, and when.
CREATE TABLE task_release (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (CASE kind {{release_kinds_known}} END IS NOT NULL),
    version_id INTEGER NOT NULL,
    -- What the other business dates take; none of a pin.
    base_version_id INTEGER CHECK ((base_version_id IS NULL) = (kind = {{release_pin}})),
    percent INTEGER CHECK (percent BETWEEN 1 AND 100),
    from_biz_date TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    ended_by TEXT,
    ended_at INTEGER,
    CHECK ((percent IS NOT NULL) = (kind = {{release_percent}})),
    CHECK ((from_biz_date IS NOT NULL) = (kind = {{release_from_biz_date}}))
);
CREATE INDEX task_release_task ON task_release (task_id, id);
CREATE UNIQUE INDEX task_release_open ON task_release (task_id) WHERE ended_at IS NULL;
