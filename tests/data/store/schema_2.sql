-- A database of schema 2, as the version before schedules wrote it, in text.
PRAGMA application_id = 1836281970;
PRAGMA user_version = 2;
CREATE TABLE sequence (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    run INTEGER NOT NULL,
    task_run INTEGER NOT NULL,
    attempt INTEGER NOT NULL
);
INSERT INTO sequence VALUES(1,3,5,5);
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
INSERT INTO dag VALUES(1,'flights',NULL,NULL,NULL,'[]','Asia/Shanghai',16,NULL,'{"key":"flights","timezone":"Asia/Shanghai","max_active_runs":16,"tasks":[]}',2,NULL,1796044173232651,1796044183013098,NULL);
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
INSERT INTO task VALUES(1,1,'flights.fetch','fetch',NULL,NULL,'[]',NULL,1,1,'python',NULL,NULL,0,'flights.py:8',NULL,1796044173232651,1796044183013098,NULL);
INSERT INTO task VALUES(2,1,'flights.load','load',NULL,NULL,'[]',NULL,1,2,'python',NULL,NULL,1,'flights.py:11',NULL,1796044173232651,1796044183013098,NULL);
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
    retry_backoff TEXT NOT NULL CHECK (retry_backoff IN ('FIXED', 'EXPONENTIAL')),
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
INSERT INTO task_version VALUES(1,1,1,X'28194866aee3c4ecf9de9754fde251b1','{"name":"fetch","type":"python","handler":"mainspring_file_flights:fetch","param_schema":[{"name":"size","type":"float","nullable":false,"required":false,"default":1.5},{"name":"note","type":"str","nullable":true,"required":false},{"name":"names","type":"list","nullable":true,"required":false}],"injected":["biz_date"],"policy":{"max_losses":3,"retry_interval_ms":10000,"retry_backoff":"EXPONENTIAL","retry_cap_ms":3600000,"retry_jitter_permille":0,"grace_ms":5000,"idempotent":true,"priority":5,"preemptible":false,"slots":1},"code_hash":"6999c611682236ac457fa2b38ee1a5e8"}','python',NULL,'mainspring_file_flights:fetch',NULL,NULL,'[{"name":"size","type":"float","nullable":false,"required":false,"default":1.5},{"name":"note","type":"str","nullable":true,"required":false},{"name":"names","type":"list","nullable":true,"required":false}]',NULL,3,10000,'EXPONENTIAL',3600000,NULL,NULL,NULL,5000,1,NULL,5,0,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'6999c611682236ac457fa2b38ee1a5e8',NULL,1796044173232651);
INSERT INTO task_version VALUES(2,2,1,X'07977e9b7e21e5fc07ad1b57a2e71687','{"name":"load","type":"python","handler":"mainspring_file_flights:load","inputs":{"path":"fetch"},"dependencies":[{"upstream":"flights.fetch","kind":"SUCCESS","offset_from":0,"offset_to":0,"offset_unit":"day","which":"all"}],"policy":{"max_losses":3,"retry_interval_ms":10000,"retry_backoff":"EXPONENTIAL","retry_cap_ms":3600000,"retry_jitter_permille":0,"grace_ms":5000,"idempotent":true,"priority":5,"preemptible":false,"slots":1},"code_hash":"9fbf37ad37b687b54595a55a6f49efa7"}','python',NULL,'mainspring_file_flights:load',NULL,NULL,NULL,NULL,3,10000,'EXPONENTIAL',3600000,NULL,NULL,NULL,5000,1,NULL,5,0,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'9fbf37ad37b687b54595a55a6f49efa7',NULL,1796044173232651);
CREATE TABLE dependency (
    id INTEGER PRIMARY KEY,
    task_version_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    upstream_task_id INTEGER NOT NULL,
    upstream_version INTEGER,
    kind TEXT NOT NULL CHECK (kind IN ('SUCCESS', 'COMPLETED', 'OUTPUT_MATCH', 'DATA_READY', 'WEAK')),
    offset_from INTEGER NOT NULL,
    offset_to INTEGER NOT NULL,
    offset_unit TEXT NOT NULL CHECK (offset_unit IN ('day', 'week', 'month', 'slot')),
    which TEXT NOT NULL CHECK (which IN ('all', 'last', 'any')),
    pattern TEXT,
    match_on TEXT,
    on_skip TEXT,
    wait_up_to_ms INTEGER,
    created_at INTEGER NOT NULL,
    CHECK (offset_from <= offset_to)
);
INSERT INTO dependency VALUES(1,2,2,1,NULL,'SUCCESS',0,0,'day','all',NULL,NULL,NULL,NULL,1796044173232651);
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
INSERT INTO schedule VALUES(1,1,'default','0 2 * * *',NULL,'Asia/Shanghai',NULL,'2024-01-01',NULL,-1,NULL,NULL,NULL,0,0,NULL,1796044173232651,1796044173232651,1796044173232651,NULL);
INSERT INTO schedule VALUES(2,1,'noon','0 0 12 * * ?',NULL,'America/New_York',NULL,NULL,'2030-12-31',NULL,NULL,NULL,NULL,1,1,NULL,1796044173232651,1796044173232651,1796044173232651,NULL);
INSERT INTO schedule VALUES(3,1,'hourly','every 6h',NULL,'Asia/Shanghai',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,2,NULL,1796044173232651,1796044173232651,1796044183013098,1796044183013098);
CREATE TABLE schedule_binding (
    id INTEGER PRIMARY KEY,
    schedule_id INTEGER NOT NULL,
    dag_id INTEGER,
    task_id INTEGER,
    params TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((dag_id IS NULL) <> (task_id IS NULL))
);
INSERT INTO schedule_binding VALUES(1,1,1,NULL,NULL,1796044173232651);
INSERT INTO schedule_binding VALUES(2,2,1,NULL,'{"names":["a","ü"],"note":null,"size":0.1}',1796044173232651);
INSERT INTO schedule_binding VALUES(3,3,1,NULL,NULL,1796044173232651);
CREATE TABLE alias (
    key TEXT PRIMARY KEY,
    task_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
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
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    dag_id INTEGER NOT NULL,
    task_id INTEGER,
    nominal_at INTEGER NOT NULL,
    biz_date TEXT NOT NULL CHECK (length(biz_date) = 10),
    interval_start INTEGER NOT NULL,
    interval_end INTEGER NOT NULL,
    timezone TEXT NOT NULL CHECK (timezone <> ''),
    "trigger" TEXT NOT NULL CHECK (CASE "trigger" WHEN 'schedule' THEN 1 WHEN 'manual' THEN 1 WHEN 'dependency' THEN 1 WHEN 'backfill' THEN 1 WHEN 'catchup' THEN 1 WHEN 'event' THEN 1 WHEN 'api' THEN 1 WHEN 'rerun' THEN 1 END IS NOT NULL),
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
    CHECK ((finished_at IS NULL) IS CASE state WHEN 'RUNNING' THEN 1 WHEN 'SUCCESS' THEN 0 WHEN 'FAILED' THEN 0 WHEN 'CANCELED' THEN 0 END)
);
INSERT INTO run VALUES(1,1,NULL,1705341600000000,'2024-01-15',1705338000000000,1705341600000000,'Asia/Shanghai','manual',0,1,NULL,NULL,'{}','SUCCESS',0,1796044182275910,1796044182344104,2,1,2,NULL,NULL);
INSERT INTO run VALUES(2,1,NULL,1705341600000000,'2024-01-15',1705338000000000,1705341600000000,'Asia/Shanghai','manual',0,1,NULL,NULL,'{}','SUCCESS',0,1796044183040096,1796044183043908,3,3,2,NULL,NULL);
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
    CHECK ((finished_at IS NULL) IS CASE state WHEN 'PENDING' THEN 1 WHEN 'RUNNING' THEN 1 WHEN 'SUCCESS' THEN 0 WHEN 'FAILED' THEN 0 WHEN 'TIMEOUT' THEN 0 WHEN 'CANCELED' THEN 0 WHEN 'SKIPPED' THEN 0 WHEN 'READY' THEN 1 WHEN 'BLOCKED' THEN 1 WHEN 'RETRY_WAIT' THEN 1 END),
    CHECK (attempt_no >= rerun_base AND rerun_base >= 0)
);
INSERT INTO task_run VALUES(1,1,1,1,0,1705341600000000,'2024-01-15',1796044182275910,'SUCCESS',3,1796044182275910,1796044182275910,1796044182310404,1,0,0,0,0,1796044182275910,NULL,NULL,NULL,0,NULL,NULL,'"x"');
INSERT INTO task_run VALUES(2,1,2,2,0,1705341600000000,'2024-01-15',1796044182275910,'SUCCESS',3,1796044182310404,1796044182310404,1796044182344104,1,0,0,0,0,1796044182310404,NULL,NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO task_run VALUES(3,2,1,1,0,1705341600000000,'2024-01-15',1796044183040096,'SUCCESS',3,1796044183040096,1796044183040096,1796044183042126,1,0,0,0,0,1796044183040096,NULL,NULL,NULL,0,NULL,NULL,'"x"');
INSERT INTO task_run VALUES(4,2,2,2,0,1705341600000000,'2024-01-15',1796044183040096,'SUCCESS',3,1796044183042126,1796044183042126,1796044183043908,1,0,0,0,0,1796044183042126,NULL,NULL,NULL,0,NULL,NULL,NULL);
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
    outcome TEXT CHECK (outcome IS NULL OR CASE outcome WHEN 'SUCCESS' THEN 1 WHEN 'FAILED' THEN 1 WHEN 'TIMEOUT' THEN 1 WHEN 'CANCELED' THEN 1 WHEN 'LOST' THEN 1 WHEN 'PREEMPTED' THEN 1 WHEN 'INTERRUPTED' THEN 1 WHEN 'SUPERSEDED' THEN 1 END IS NOT NULL),
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
INSERT INTO attempt VALUES(1,1,1,1796044182275910,1705341600000000,1,2,1796044182275910,1796044182310404,'SUCCESS',34,0,NULL,20521,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(2,2,1,1796044182310404,1705341600000000,2,2,1796044182310404,1796044182344104,'SUCCESS',33,0,NULL,20521,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(3,3,1,1796044183040096,1705341600000000,1,3,1796044183040096,1796044183042126,'SUCCESS',1,0,NULL,20528,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(4,4,1,1796044183042126,1705341600000000,2,3,1796044183042126,1796044183043908,'SUCCESS',1,0,NULL,20528,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
        CHECK (stop_reason IS NULL OR CASE stop_reason WHEN 'cancel' THEN 1 WHEN 'timeout' THEN 1 WHEN 'preempt' THEN 1 WHEN 'interrupt' THEN 1 WHEN 'supersede' THEN 1 END IS NOT NULL)
);
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
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL,
    entries BLOB NOT NULL
);
INSERT INTO journal VALUES(1,1,X'010700008c9de2f7c3dfb006007100010000');
INSERT INTO journal VALUES(2,1,X'0112000188b8e6f7c3dfb0060007020000007102010000');
INSERT INTO journal VALUES(3,1,X'01120201d0c6eaf7c3dfb00600');
INSERT INTO journal VALUES(4,2,X'01070000c0c1bff8c3dfb006007100010000');
INSERT INTO journal VALUES(5,2,X'011200019ce1bff8c3dfb0060007020000007102010000');
INSERT INTO journal VALUES(6,2,X'0112020188fdbff8c3dfb00600');
CREATE TABLE pool (
    name TEXT PRIMARY KEY,
    slots INTEGER NOT NULL CHECK (slots >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) WITHOUT ROWID;
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
INSERT INTO node VALUES(1,'here',19757,'interactive','0.1.0',NULL,1796044173225138,1796044173255843,1796044173255843,1796044173255843);
INSERT INTO node VALUES(2,'here',20521,'interactive','0.1.0',NULL,1796044182247047,1796044182359871,1796044182359871,1796044182359871);
INSERT INTO node VALUES(3,'here',20528,'interactive','0.1.0',NULL,1796044182988626,1796044183057646,1796044183057646,1796044183057646);
CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT UNIQUE,
    epoch INTEGER NOT NULL CHECK (epoch >= 1),
    node_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
INSERT INTO scope VALUES(1,'own',NULL,1,1,1796044173225138);
INSERT INTO scope VALUES(2,'own',NULL,1,2,1796044182247047);
INSERT INTO scope VALUES(3,'own',NULL,1,3,1796044182988626);
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
CREATE INDEX task_dag ON task (dag_id, position);
CREATE UNIQUE INDEX task_dag_resource ON task (dag_id, resource, coalesce(resource_key, ''))
    WHERE resource IS NOT NULL AND removed_at IS NULL;
CREATE INDEX task_resource ON task (resource) WHERE resource IS NOT NULL;
CREATE INDEX task_type ON task (type);
CREATE UNIQUE INDEX task_version_number ON task_version (task_id, version);
CREATE UNIQUE INDEX dependency_edge
    ON dependency (task_version_id, upstream_task_id, offset_from, offset_to, offset_unit, kind);
CREATE INDEX dependency_upstream ON dependency (upstream_task_id);
CREATE INDEX dependency_task ON dependency (task_id);
CREATE UNIQUE INDEX schedule_name ON schedule (dag_id, name);
CREATE UNIQUE INDEX schedule_binding_target
    ON schedule_binding (schedule_id, coalesce(dag_id, 0), coalesce(task_id, 0));
CREATE INDEX schedule_binding_task ON schedule_binding (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX schedule_binding_dag ON schedule_binding (dag_id) WHERE dag_id IS NOT NULL;
CREATE UNIQUE INDEX run_timed ON run (dag_id, nominal_at) WHERE timed = 1;
CREATE INDEX run_biz_date ON run (biz_date);
CREATE INDEX run_dag ON run (dag_id, id);
CREATE INDEX run_open ON run (scope_id) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX task_run_place ON task_run (run_id, task_id, map_index);
CREATE INDEX task_run_task_nominal ON task_run (task_id, nominal_at);
CREATE INDEX task_run_task_date ON task_run (task_id, biz_date);
CREATE INDEX task_run_date_task ON task_run (biz_date, task_id);
CREATE INDEX task_run_open ON task_run (state, task_id) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX attempt_number ON attempt (task_run_id, attempt_no);
CREATE INDEX attempt_finished ON attempt (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX attempt_lease_pool ON attempt_lease (pool, slots) WHERE pool IS NOT NULL;
CREATE INDEX asset_event_asset ON asset_event (asset, biz_date);
CREATE INDEX journal_run ON journal (run_id);
CREATE INDEX request_open ON request (scope_id, id) WHERE decided_at IS NULL;
CREATE INDEX skip_schedule ON skip (schedule_id, from_at);
CREATE INDEX outbox_open ON outbox (id) WHERE sent_at IS NULL;
CREATE VIEW v_task_definition AS
SELECT
    task.id AS id,
    task.key AS name,
    schedule.cron AS cron_expr,
    coalesce(schedule.timezone, dag.timezone) AS timezone,
    task.type AS executor_type,
    coalesce(task_version.config, '{}') AS executor_config,
    coalesce(task_version.timeout_ms, 0) / 1000 AS timeout_sec,
    coalesce(task_version.max_attempts, CASE WHEN task_version.idempotent = 1 THEN 4 ELSE 1 END) - 1
        AS retry_times,
    task_version.retry_interval_ms / 1000 AS retry_interval,
    task.enabled AS status,
    strftime('%Y-%m-%d %H:%M:%S', task.created_at / 1000000, 'unixepoch') AS created_at,
    strftime('%Y-%m-%d %H:%M:%S', task.updated_at / 1000000, 'unixepoch') AS updated_at
FROM task
JOIN dag ON dag.id = task.dag_id
JOIN task_version ON task_version.id = task.active_version_id
LEFT JOIN schedule ON schedule.id = (
    SELECT min(schedule_binding.schedule_id)
    FROM schedule_binding
    JOIN schedule AS bound ON bound.id = schedule_binding.schedule_id AND bound.removed_at IS NULL
    WHERE schedule_binding.task_id = task.id OR schedule_binding.dag_id = task.dag_id
)
WHERE task.removed_at IS NULL;
CREATE VIEW v_task_instance AS
SELECT
    task_run.id AS id,
    task_run.task_id AS task_def_id,
    strftime('%Y-%m-%d %H:%M:%S', task_run.nominal_at / 1000000, 'unixepoch') AS scheduled_time,
    strftime('%Y-%m-%d %H:%M:%S', task_run.started_at / 1000000, 'unixepoch') AS actual_time,
    CASE task_run.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'SUCCESS' THEN 2 WHEN 'FAILED' THEN 3 WHEN 'TIMEOUT' THEN 4 WHEN 'CANCELED' THEN 5 WHEN 'SKIPPED' THEN 6 WHEN 'READY' THEN 0 WHEN 'BLOCKED' THEN 0 WHEN 'RETRY_WAIT' THEN 0 END AS status,
    (
        SELECT node.host || ':' || node.pid
        FROM attempt
        JOIN node ON node.id = attempt.node_id
        WHERE attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no
    ) AS node_id,
    CASE run."trigger" WHEN 'schedule' THEN 0 WHEN 'manual' THEN 1 WHEN 'dependency' THEN 2 WHEN 'backfill' THEN 3 WHEN 'catchup' THEN 4 WHEN 'event' THEN 5 WHEN 'api' THEN 6 WHEN 'rerun' THEN 7 END AS trigger_type,
    max(task_run.attempt_no - task_run.rerun_base - 1, 0) AS retry_count,
    strftime('%Y-%m-%d %H:%M:%S', task_run.created_at / 1000000, 'unixepoch') AS created_at
FROM task_run
JOIN run ON run.id = task_run.run_id;
CREATE VIEW v_execution_history AS
SELECT
    attempt.id AS id,
    attempt.task_run_id AS instance_id,
    attempt.exit_code AS exit_code,
    attempt.log_tail AS stdout_log,
    attempt.error AS stderr_log,
    CASE WHEN attempt.duration_ms > 0
        THEN round(100.0 * attempt.cpu_ms / attempt.duration_ms, 2)
    END AS cpu_usage,
    attempt.max_rss_kb / 1024 AS mem_mb,
    attempt.duration_ms AS duration_ms,
    strftime('%Y-%m-%d %H:%M:%S', attempt.finished_at / 1000000, 'unixepoch') AS recorded_at
FROM attempt
WHERE attempt.finished_at IS NOT NULL;
CREATE VIEW v_task_dependency AS
SELECT
    dependency.id AS id,
    dependency.upstream_task_id AS upstream_def_id,
    dependency.task_id AS downstream_def_id,
    CASE dependency.kind WHEN 'SUCCESS' THEN 0 WHEN 'COMPLETED' THEN 1 WHEN 'OUTPUT_MATCH' THEN 2 WHEN 'DATA_READY' THEN 3 WHEN 'WEAK' THEN 4 END AS dependency_type,
    dependency.pattern AS output_match,
    strftime('%Y-%m-%d %H:%M:%S', dependency.created_at / 1000000, 'unixepoch') AS created_at
FROM dependency
JOIN task ON task.active_version_id = dependency.task_version_id AND task.id = dependency.task_id
WHERE task.removed_at IS NULL;
CREATE VIEW v_task AS
SELECT
    task.id AS task_id,
    task.key AS task_name,
    task.type AS task_type,
    coalesce(task_version.config, '{}') AS task_config,
    task.owner AS owner,
    10 - task_version.priority AS priority,
    coalesce(task_version.max_attempts, CASE WHEN task_version.idempotent = 1 THEN 4 ELSE 1 END) - 1
        AS retry_times,
    task_version.retry_interval_ms / 1000 AS retry_interval,
    coalesce(task_version.timeout_ms, 0) / 1000 AS timeout,
    task.enabled AS status,
    strftime('%Y-%m-%d %H:%M:%S', task.created_at / 1000000, 'unixepoch') AS create_time,
    strftime('%Y-%m-%d %H:%M:%S', task.updated_at / 1000000, 'unixepoch') AS update_time
FROM task
JOIN task_version ON task_version.id = task.active_version_id
WHERE task.removed_at IS NULL;
CREATE VIEW v_dependency AS
SELECT
    dependency.id AS dep_id,
    dependency.task_id AS task_id,
    dependency.upstream_task_id AS parent_task_id,
    CASE WHEN dependency.kind = 'WEAK' THEN 'weak' ELSE 'strong' END AS dep_type,
    CASE dependency.offset_unit WHEN 'week' THEN 7 * dependency.offset_from
        ELSE dependency.offset_from
    END AS offset_day,
    strftime('%Y-%m-%d %H:%M:%S', dependency.created_at / 1000000, 'unixepoch') AS create_time
FROM dependency
JOIN task ON task.active_version_id = dependency.task_version_id AND task.id = dependency.task_id
WHERE task.removed_at IS NULL;
CREATE VIEW v_schedule AS
SELECT
    schedule.id AS schedule_id,
    task.id AS task_id,
    schedule.cron AS cron_expr,
    schedule.timezone AS timezone,
    schedule.start_date AS start_date,
    schedule.end_date AS end_date,
    1 - schedule.paused AS status,
    strftime('%Y-%m-%d %H:%M:%S', schedule.created_at / 1000000, 'unixepoch') AS create_time
FROM schedule
JOIN schedule_binding ON schedule_binding.schedule_id = schedule.id
JOIN task
    ON task.removed_at IS NULL
    AND (task.id = schedule_binding.task_id OR task.dag_id = schedule_binding.dag_id)
WHERE schedule.removed_at IS NULL;
CREATE VIEW v_execution AS
SELECT
    task_run.id AS exec_id,
    task_run.task_id AS task_id,
    run.schedule_id AS schedule_id,
    task_run.biz_date AS biz_date,
    CASE WHEN task_run.state IN ('PENDING', 'READY', 'BLOCKED', 'RETRY_WAIT') THEN 'PENDING' ELSE task_run.state END
        AS status,
    strftime('%Y-%m-%d %H:%M:%S', attempt.started_at / 1000000, 'unixepoch') AS start_time,
    strftime('%Y-%m-%d %H:%M:%S', attempt.finished_at / 1000000, 'unixepoch') AS end_time,
    attempt.duration_ms AS duration_ms,
    max(task_run.attempt_no - task_run.rerun_base - 1, 0) AS attempt,
    run."trigger" AS trigger_type,
    attempt.log_uri AS log_path,
    attempt.error AS error_msg,
    strftime('%Y-%m-%d %H:%M:%S', task_run.created_at / 1000000, 'unixepoch') AS create_time
FROM task_run
JOIN run ON run.id = task_run.run_id
LEFT JOIN attempt
    ON attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no;
CREATE VIEW v_tasks AS
SELECT
    task.key AS task_id,
    dag.key AS schedule_id,
    coalesce(task.created_by, 'system') AS creator,
    strftime('%Y-%m-%d %H:%M:%S', task.created_at / 1000000, 'unixepoch') AS create_time,
    coalesce(task_version.created_by, task.created_by, 'system') AS modifier,
    strftime('%Y-%m-%d %H:%M:%S', task.updated_at / 1000000, 'unixepoch') AS modified_time,
    task.resource AS resid,
    task.resource_key AS resid_ukey,
    (SELECT subject FROM notification WHERE notification.task_id = task.id ORDER BY id LIMIT 1)
        AS sub_subject,
    (SELECT recipients FROM notification WHERE notification.task_id = task.id ORDER BY id LIMIT 1)
        AS sub_to,
    task.type AS task_type,
    task.category AS task_category,
    task_version.defaults_from AS inherite_category,
    task.labels AS task_labels,
    task_version.priority AS priority,
    task.enabled AS enabled,
    task_version.not_before AS run_after_time,
    task_version.run_on AS run_on_datetime,
    strftime(
        '%Y-%m-%d %H:%M:%S',
        coalesce(newest.finished_at, newest.started_at, newest.created_at) / 1000000,
        'unixepoch'
    ) AS last_update_time,
    strftime(
        '%Y-%m-%d %H:%M:%S',
        coalesce(newest.finished_at, newest.started_at, newest.created_at) / 1000000,
        'unixepoch'
    ) AS updated_at,
    newest.id AS last_task_run_id,
    newest.run_id AS last_schedule_run_id,
    newest.run_id AS last_run_id,
    CASE newest.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'SUCCESS' THEN 2 WHEN 'FAILED' THEN 3 WHEN 'TIMEOUT' THEN 4 WHEN 'CANCELED' THEN 5 WHEN 'SKIPPED' THEN 6 WHEN 'READY' THEN 0 WHEN 'BLOCKED' THEN 0 WHEN 'RETRY_WAIT' THEN 0 END AS running_state,
    newest.state AS state,
    CASE WHEN newest.state = 'RUNNING' THEN node.host || ':' || node.pid END
        AS running_cluster_node,
    attempt.node_id AS node_id,
    CASE WHEN newest.state = 'RUNNING'
        THEN strftime('%Y-%m-%d %H:%M:%S', node.heartbeat_at / 1000000, 'unixepoch')
    END AS running_heartbeat_time,
    task_version.options AS options,
    task_version.ext AS task_ext_option1,
    NULL AS task_ext_option2,
    attempt.duration_ms AS last_duration,
    attempt.duration_ms AS last_duration_ms
FROM task
JOIN dag ON dag.id = task.dag_id
JOIN task_version ON task_version.id = task.active_version_id
LEFT JOIN task_run AS newest ON newest.id = (
    SELECT task_run.id
    FROM task_run
    WHERE task_run.task_id = task.id
    ORDER BY task_run.nominal_at DESC, task_run.id DESC
    LIMIT 1
)
LEFT JOIN attempt ON attempt.task_run_id = newest.id AND attempt.attempt_no = newest.attempt_no
LEFT JOIN node ON node.id = attempt.node_id
WHERE task.removed_at IS NULL;
CREATE VIEW v_runs AS
SELECT
    run.id AS run_id,
    dag.key AS dag,
    task_run.id AS task_run_id,
    task.id AS task_id,
    task.key AS task,
    task_version.version AS version,
    task.type AS type,
    task.owner AS owner,
    task_version.priority AS priority,
    schedule.name AS schedule,
    schedule.cron AS cron,
    run.timezone AS timezone,
    run."trigger" AS trigger_type,
    strftime('%Y-%m-%d %H:%M:%S', run.nominal_at / 1000000, 'unixepoch') AS nominal_at,
    run.biz_date AS biz_date,
    run.state AS run_state,
    task_run.state AS state,
    CASE task_run.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'SUCCESS' THEN 2 WHEN 'FAILED' THEN 3 WHEN 'TIMEOUT' THEN 4 WHEN 'CANCELED' THEN 5 WHEN 'SKIPPED' THEN 6 WHEN 'READY' THEN 0 WHEN 'BLOCKED' THEN 0 WHEN 'RETRY_WAIT' THEN 0 END AS state_code,
    (SELECT count(*) FROM dependency WHERE dependency.task_version_id = task_version.id)
        AS upstreams,
    (
        SELECT count(*)
        FROM dependency
        JOIN task AS down
            ON down.id = dependency.task_id
            AND down.active_version_id = dependency.task_version_id
        WHERE dependency.upstream_task_id = task.id AND down.removed_at IS NULL
    ) AS downstreams,
    task_run.attempt_no AS attempt_no,
    attempt.outcome AS outcome,
    attempt.exit_code AS exit_code,
    node.host || ':' || node.pid AS node,
    strftime('%Y-%m-%d %H:%M:%S', attempt.started_at / 1000000, 'unixepoch') AS started_at,
    strftime('%Y-%m-%d %H:%M:%S', attempt.finished_at / 1000000, 'unixepoch') AS finished_at,
    attempt.duration_ms AS duration_ms,
    attempt.error_code AS error_code,
    attempt.error AS error,
    attempt.log_uri AS log_uri
FROM task_run
JOIN run ON run.id = task_run.run_id
JOIN dag ON dag.id = run.dag_id
JOIN task ON task.id = task_run.task_id
JOIN task_version ON task_version.id = task_run.task_version_id
LEFT JOIN schedule ON schedule.id = run.schedule_id
LEFT JOIN attempt
    ON attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no
LEFT JOIN node ON node.id = attempt.node_id;
