-- All tables of the model, those that later versions fill included.
--
-- Instants are microseconds UTC (*_at), durations milliseconds (*_ms), dates ISO text. There are
-- no foreign keys: the store checks, and `verify` proves it. Columns that are seldom set come
-- without a default, because NULL takes no room. Words in double braces are put in from the state
-- table when this is applied.

-- Ids that come next. They grow also when the newest rows were deleted.
CREATE TABLE sequence (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    run INTEGER NOT NULL,
    task_run INTEGER NOT NULL,
    attempt INTEGER NOT NULL
);
INSERT INTO sequence (only, run, task_run, attempt) VALUES (1, 1, 1, 1);

-- Definitions ------------------------------------------------------------------------------

CREATE TABLE dag (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    title TEXT,
    doc TEXT,
    owner TEXT,
    labels TEXT NOT NULL,
    timezone TEXT NOT NULL CHECK (timezone <> ''),
    max_active_runs INTEGER NOT NULL CHECK (max_active_runs >= 1),
    source_file TEXT,
    definition TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER
);

CREATE TABLE category (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    parent_id INTEGER,
    defaults TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    dag_id INTEGER NOT NULL,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    title TEXT,
    owner TEXT,
    labels TEXT NOT NULL,
    category TEXT,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    active_version_id INTEGER NOT NULL,
    type TEXT NOT NULL,
    resource TEXT,
    resource_key TEXT,
    position INTEGER NOT NULL,
    source TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER
);
CREATE INDEX task_dag ON task (dag_id, position);
CREATE UNIQUE INDEX task_dag_resource ON task (dag_id, resource, coalesce(resource_key, ''))
    WHERE resource IS NOT NULL AND removed_at IS NULL;
CREATE INDEX task_resource ON task (resource) WHERE resource IS NOT NULL;
CREATE INDEX task_type ON task (type);

CREATE TABLE task_version (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    content_hash BLOB NOT NULL,
    -- The whole content as it is read back; the columns below are for people and indexes.
    definition TEXT NOT NULL,
    type TEXT NOT NULL,
    executor TEXT,
    handler TEXT,
    config TEXT,
    params TEXT,
    param_schema TEXT,
    max_attempts INTEGER CHECK (max_attempts >= 1),
    max_losses INTEGER NOT NULL,
    retry_interval_ms INTEGER NOT NULL,
    retry_backoff TEXT NOT NULL CHECK (retry_backoff IN ({{backoffs}})),
    retry_cap_ms INTEGER NOT NULL,
    retry_on TEXT,
    timeout_ms INTEGER,
    deadline TEXT,
    grace_ms INTEGER NOT NULL,
    idempotent INTEGER NOT NULL CHECK (idempotent IN (0, 1)),
    dedup_key TEXT,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    preemptible INTEGER NOT NULL CHECK (preemptible IN (0, 1)),
    pool TEXT,
    slots INTEGER NOT NULL CHECK (slots >= 0),
    max_active INTEGER,
    not_before TEXT,
    run_on TEXT,
    resource TEXT,
    resource_key TEXT,
    defaults_from TEXT,
    options TEXT,
    ext TEXT,
    code_hash TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX task_version_number ON task_version (task_id, version);

CREATE TABLE dependency (
    id INTEGER PRIMARY KEY,
    task_version_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    upstream_task_id INTEGER NOT NULL,
    upstream_version INTEGER,
    kind TEXT NOT NULL CHECK (kind IN ({{edge_kinds}})),
    offset_from INTEGER NOT NULL,
    offset_to INTEGER NOT NULL,
    offset_unit TEXT NOT NULL CHECK (offset_unit IN ({{offset_units}})),
    which TEXT NOT NULL CHECK (which IN ({{whiches}})),
    pattern TEXT,
    match_on TEXT,
    on_skip TEXT,
    wait_up_to_ms INTEGER,
    created_at INTEGER NOT NULL,
    CHECK (offset_from <= offset_to)
);
CREATE UNIQUE INDEX dependency_edge
    ON dependency (task_version_id, upstream_task_id, offset_from, offset_to, offset_unit, kind);
CREATE INDEX dependency_upstream ON dependency (upstream_task_id);
CREATE INDEX dependency_task ON dependency (task_id);

CREATE TABLE calendar (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    timezone TEXT,
    days TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE schedule (
    id INTEGER PRIMARY KEY,
    dag_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    cron TEXT NOT NULL,
    dialect TEXT,
    timezone TEXT NOT NULL CHECK (timezone <> ''),
    calendar_id INTEGER,
    start_date TEXT,
    end_date TEXT,
    biz_offset INTEGER,
    biz_rule TEXT,
    missed TEXT,
    missed_window_ms INTEGER,
    paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
    position INTEGER NOT NULL,
    watermark_at INTEGER,
    edited_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER
);
CREATE UNIQUE INDEX schedule_name ON schedule (dag_id, name);

CREATE TABLE schedule_binding (
    id INTEGER PRIMARY KEY,
    schedule_id INTEGER NOT NULL,
    dag_id INTEGER,
    task_id INTEGER,
    params TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((dag_id IS NULL) <> (task_id IS NULL))
);
CREATE UNIQUE INDEX schedule_binding_target
    ON schedule_binding (schedule_id, coalesce(dag_id, 0), coalesce(task_id, 0));
CREATE INDEX schedule_binding_task ON schedule_binding (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX schedule_binding_dag ON schedule_binding (dag_id) WHERE dag_id IS NOT NULL;

-- A task that was renamed is still found under its old key.
CREATE TABLE alias (
    key TEXT PRIMARY KEY,
    task_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Who is told what.
CREATE TABLE notification (
    id INTEGER PRIMARY KEY,
    dag_id INTEGER,
    task_id INTEGER,
    category_id INTEGER,
    event TEXT NOT NULL,
    channel TEXT,
    subject TEXT,
    recipients TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

-- History ----------------------------------------------------------------------------------

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    dag_id INTEGER NOT NULL,
    task_id INTEGER,
    nominal_at INTEGER NOT NULL,
    biz_date TEXT NOT NULL CHECK (length(biz_date) = 10),
    interval_start INTEGER NOT NULL,
    interval_end INTEGER NOT NULL,
    timezone TEXT NOT NULL CHECK (timezone <> ''),
    "trigger" TEXT NOT NULL CHECK (CASE "trigger" {{triggers_known}} END IS NOT NULL),
    timed INTEGER NOT NULL CHECK (timed IN (0, 1)),
    interactive INTEGER NOT NULL CHECK (interactive IN (0, 1)),
    requested_by TEXT,
    requested_at INTEGER,
    params TEXT NOT NULL,
    state TEXT NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    scope_id INTEGER NOT NULL,
    first_task_run_id INTEGER NOT NULL,
    task_count INTEGER NOT NULL,
    schedule_id INTEGER,
    backfill_id INTEGER,
    -- Known words only, and open means without an end.
    CHECK ((finished_at IS NULL) IS CASE state {{run_state_is_open}} END)
);
CREATE UNIQUE INDEX run_timed ON run (dag_id, nominal_at) WHERE timed = 1;
CREATE INDEX run_biz_date ON run (biz_date);
CREATE INDEX run_dag ON run (dag_id, id);
CREATE INDEX run_open ON run (scope_id) WHERE finished_at IS NULL;

CREATE TABLE run_schedule (
    run_id INTEGER NOT NULL,
    schedule_id INTEGER NOT NULL,
    PRIMARY KEY (run_id, schedule_id)
) WITHOUT ROWID;

CREATE TABLE task_run (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    task_version_id INTEGER NOT NULL,
    map_index INTEGER NOT NULL,
    nominal_at INTEGER NOT NULL,
    biz_date TEXT NOT NULL CHECK (length(biz_date) = 10),
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    first_ready_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    attempt_no INTEGER NOT NULL,
    rerun_base INTEGER NOT NULL,
    errors_used INTEGER NOT NULL,
    losses_used INTEGER NOT NULL,
    preemptions_used INTEGER NOT NULL,
    token INTEGER NOT NULL,
    wake_at INTEGER,
    blocked_by INTEGER,
    code TEXT,
    stale INTEGER NOT NULL CHECK (stale IN (0, 1)),
    params TEXT,
    result_uri TEXT,
    result TEXT,
    -- A list of words after IN would be put into a table of its own at every write.
    CHECK ((finished_at IS NULL) IS CASE state {{state_is_open}} END),
    CHECK (attempt_no >= rerun_base AND rerun_base >= 0)
);
CREATE UNIQUE INDEX task_run_place ON task_run (run_id, task_id, map_index);
CREATE INDEX task_run_task_nominal ON task_run (task_id, nominal_at);
CREATE INDEX task_run_task_date ON task_run (task_id, biz_date);
CREATE INDEX task_run_date_task ON task_run (biz_date, task_id);
CREATE INDEX task_run_open ON task_run (state, task_id) WHERE finished_at IS NULL;

CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    task_run_id INTEGER NOT NULL,
    attempt_no INTEGER NOT NULL CHECK (attempt_no >= 1),
    token INTEGER NOT NULL,
    nominal_at INTEGER NOT NULL,
    task_version_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT CHECK (outcome IS NULL OR CASE outcome {{outcomes_known}} END IS NOT NULL),
    duration_ms INTEGER,
    cpu_ms INTEGER,
    max_rss_kb INTEGER,
    pid INTEGER,
    exit_code INTEGER,
    signal INTEGER,
    error_code TEXT,
    error_type TEXT,
    error TEXT,
    traceback TEXT,
    log_uri TEXT,
    log_tail TEXT,
    params TEXT,
    CHECK ((finished_at IS NULL) = (outcome IS NULL))
);
CREATE UNIQUE INDEX attempt_number ON attempt (task_run_id, attempt_no);
CREATE INDEX attempt_finished ON attempt (finished_at) WHERE finished_at IS NOT NULL;

-- A slot is held by the row of a live attempt, so it cannot leak.
CREATE TABLE attempt_lease (
    task_run_id INTEGER PRIMARY KEY,
    attempt_no INTEGER NOT NULL CHECK (attempt_no >= 1),
    token INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    pool TEXT,
    slots INTEGER NOT NULL CHECK (slots >= 0),
    heartbeat_at INTEGER,
    lease_until INTEGER,
    stop_reason TEXT
        CHECK (stop_reason IS NULL OR CASE stop_reason {{stop_reasons_known}} END IS NOT NULL)
);
CREATE INDEX attempt_lease_pool ON attempt_lease (pool, slots) WHERE pool IS NOT NULL;
-- No index on the node: there are as many rows as live attempts, and each start would pay for it.

CREATE TABLE asset_event (
    id INTEGER PRIMARY KEY,
    asset TEXT NOT NULL,
    biz_date TEXT NOT NULL CHECK (length(biz_date) = 10),
    ready_at INTEGER NOT NULL,
    source TEXT,
    run_id INTEGER,
    task_run_id INTEGER,
    attempt_no INTEGER,
    payload TEXT
);
CREATE INDEX asset_event_asset ON asset_event (asset, biz_date);

CREATE TABLE backfill (
    id INTEGER PRIMARY KEY,
    key TEXT UNIQUE,
    dag_id INTEGER NOT NULL,
    schedule_id INTEGER,
    from_date TEXT,
    to_date TEXT,
    plan TEXT NOT NULL,
    params TEXT,
    state TEXT NOT NULL,
    requested_by TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
);

-- The journal: what one commit did to one run, packed.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    entries BLOB NOT NULL
);
CREATE INDEX journal_run ON journal (run_id);

-- Slots and processes ------------------------------------------------------------------------

CREATE TABLE pool (
    name TEXT PRIMARY KEY,
    slots INTEGER NOT NULL CHECK (slots >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Other named numbers shared across dags.
CREATE TABLE limits (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    value INTEGER NOT NULL CHECK (value >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    role TEXT NOT NULL,
    version TEXT NOT NULL,
    labels TEXT,
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    stopped_at INTEGER
);

CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT UNIQUE,
    epoch INTEGER NOT NULL CHECK (epoch >= 1),
    node_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);

-- Asked, recorded, to be sent ------------------------------------------------------------------

CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    scope_id INTEGER,
    dag_id INTEGER,
    run_id INTEGER,
    payload TEXT NOT NULL,
    requested_by TEXT,
    requested_at INTEGER NOT NULL,
    decided_at INTEGER,
    answer TEXT
);
CREATE INDEX request_open ON request (scope_id, id) WHERE decided_at IS NULL;

-- A contiguous range of fires that made no run.
CREATE TABLE skip (
    id INTEGER PRIMARY KEY,
    schedule_id INTEGER NOT NULL,
    from_at INTEGER NOT NULL,
    to_at INTEGER NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 1),
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    CHECK (from_at <= to_at)
);
CREATE INDEX skip_schedule ON skip (schedule_id, from_at);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    run_id INTEGER,
    task_run_id INTEGER,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_at INTEGER,
    tries INTEGER NOT NULL DEFAULT 0,
    sent_at INTEGER
);
CREATE INDEX outbox_open ON outbox (id) WHERE sent_at IS NULL;
