-- Schedules that fire: their whole definition, the periods of their lives, and how far they came.

-- The whole definition as it is read back; the other columns of a rule are for people and views.
ALTER TABLE schedule ADD COLUMN definition TEXT;
UPDATE schedule SET
    watermark_at = coalesce(watermark_at, edited_at),
    missed = coalesce(missed, {{missed_default}}),
    missed_window_ms = coalesce(missed_window_ms, {{missed_window_ms}}),
    definition = json_object(
        'name', name,
        'rule', json_patch('{}', json_object(
            'expression', cron,
            'timezone', timezone,
            'start_date', start_date,
            'end_date', end_date
        )),
        'biz_offset', biz_offset,
        'missed_window_ms', coalesce(missed_window_ms, {{missed_window_ms}}),
        'bindings', json_array(json_object('params', json(coalesce(
            (
                SELECT schedule_binding.params
                FROM schedule_binding
                WHERE schedule_binding.schedule_id = schedule.id
                    AND schedule_binding.dag_id IS NOT NULL
            ),
            '{}'
        )))),
        'paused', json(CASE paused WHEN 1 THEN 'true' ELSE 'false' END)
    );

-- In which a schedule's rule stayed the same: fires after from_at and up to until_at are its. One
-- is open, and each begins where the one before ends.
CREATE TABLE schedule_period (
    id INTEGER PRIMARY KEY,
    schedule_id INTEGER NOT NULL,
    from_at INTEGER NOT NULL,
    until_at INTEGER,
    kind TEXT NOT NULL CHECK (CASE kind {{period_kinds_known}} END IS NOT NULL),
    rule TEXT NOT NULL,
    CHECK (until_at IS NULL OR from_at < until_at)
);
CREATE INDEX schedule_period_begin ON schedule_period (schedule_id, from_at);
INSERT INTO schedule_period (schedule_id, from_at, kind, rule)
SELECT
    id,
    edited_at,
    CASE
        WHEN removed_at IS NOT NULL THEN {{period_removed}}
        WHEN paused = 1 THEN {{period_paused}}
        ELSE {{period_active}}
    END,
    json_extract(definition, '$.rule')
FROM schedule
ORDER BY id;

-- One schedule may fire one task with several sets of values.
DROP INDEX schedule_binding_target;
CREATE UNIQUE INDEX schedule_binding_target ON schedule_binding
    (schedule_id, coalesce(dag_id, 0), coalesce(task_id, 0), coalesce(params, ''));

-- The newest skips of a schedule are asked for, by their ends.
DROP INDEX skip_schedule;
CREATE INDEX skip_end ON skip (schedule_id, to_at);

-- Timed runs are one for each target, instant and set of values.
ALTER TABLE run ADD COLUMN variant TEXT NOT NULL DEFAULT '';
DROP INDEX run_timed;
CREATE UNIQUE INDEX run_timed ON run (dag_id, coalesce(task_id, 0), nominal_at, variant)
    WHERE timed = 1;

-- A task with schedules of its own does not follow those of its dag.
DROP VIEW v_task_definition;
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
LEFT JOIN schedule ON schedule.id = coalesce(
    (
        SELECT min(schedule_binding.schedule_id)
        FROM schedule_binding
        JOIN schedule AS own
            ON own.id = schedule_binding.schedule_id AND own.removed_at IS NULL
        WHERE schedule_binding.task_id = task.id
    ),
    (
        SELECT min(schedule_binding.schedule_id)
        FROM schedule_binding
        JOIN schedule AS shared
            ON shared.id = schedule_binding.schedule_id AND shared.removed_at IS NULL
        WHERE schedule_binding.dag_id = task.dag_id
    )
)
WHERE task.removed_at IS NULL;

-- One row a schedule and task: a schedule of a dag is one of each of its tasks that has no own.
DROP VIEW v_schedule;
CREATE VIEW v_schedule AS
SELECT DISTINCT
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
    AND (
        task.id = schedule_binding.task_id
        OR (
            task.dag_id = schedule_binding.dag_id
            AND NOT EXISTS (
                SELECT 1
                FROM schedule_binding AS bound
                JOIN schedule AS own ON own.id = bound.schedule_id AND own.removed_at IS NULL
                WHERE bound.task_id = task.id
            )
        )
    )
WHERE schedule.removed_at IS NULL;
