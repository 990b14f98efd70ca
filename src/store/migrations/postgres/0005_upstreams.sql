-- Edges to other runs: assets, what makes them ready, and tasks that somebody disabled.

-- What tasks make ready, as they are registered now.
CREATE TABLE task_asset (
    task_id BIGINT NOT NULL,
    asset TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (asset, task_id)
);
CREATE INDEX task_asset_task ON task_asset (task_id);

-- The asset that an edge waits for; its upstream is then 0.
ALTER TABLE dependency ADD COLUMN asset TEXT COLLATE "C";
DROP INDEX dependency_edge;
CREATE UNIQUE INDEX dependency_edge ON dependency (
    task_version_id, upstream_task_id, coalesce(asset, ''), offset_from, offset_to, offset_unit,
    kind
);

-- Who disabled or enabled a task last, and when.
ALTER TABLE task ADD COLUMN enabled_by TEXT COLLATE "C";
ALTER TABLE task ADD COLUMN enabled_at BIGINT;
