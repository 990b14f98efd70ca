-- Views in the names, units and codes of the tables that users bring, for people who query by
-- SQL. Times are UTC text; waiting states show as the one state those tables have for them.

-- One row a task: what may stand in the columns of a definition table with one schedule a task.
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
    to_char(to_timestamp(task.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS created_at,
    to_char(to_timestamp(task.updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS updated_at
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
    to_char(to_timestamp(task_run.nominal_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS scheduled_time,
    to_char(to_timestamp(task_run.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS actual_time,
    CASE task_run.state {{state_codes}} END AS status,
    (
        SELECT node.host || ':' || node.pid
        FROM attempt
        JOIN node ON node.id = attempt.node_id
        WHERE attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no
            AND attempt.nominal_at = task_run.nominal_at
    ) AS node_id,
    CASE run."trigger" {{trigger_codes}} END AS trigger_type,
    greatest(task_run.attempt_no - task_run.rerun_base - 1, 0) AS retry_count,
    to_char(to_timestamp(task_run.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS created_at
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
    to_char(to_timestamp(attempt.finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS recorded_at
FROM attempt
WHERE attempt.finished_at IS NOT NULL;

-- Edges of the active versions.
CREATE VIEW v_task_dependency AS
SELECT
    dependency.id AS id,
    dependency.upstream_task_id AS upstream_def_id,
    dependency.task_id AS downstream_def_id,
    CASE dependency.kind {{edge_codes}} END AS dependency_type,
    dependency.pattern AS output_match,
    to_char(to_timestamp(dependency.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS created_at
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
    to_char(to_timestamp(task.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS create_time,
    to_char(to_timestamp(task.updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS update_time
FROM task
JOIN task_version ON task_version.id = task.active_version_id
WHERE task.removed_at IS NULL;

CREATE VIEW v_dependency AS
SELECT
    dependency.id AS dep_id,
    dependency.task_id AS task_id,
    dependency.upstream_task_id AS parent_task_id,
    CASE WHEN dependency.kind = {{weak}} THEN 'weak' ELSE 'strong' END AS dep_type,
    CASE dependency.offset_unit WHEN 'week' THEN 7 * dependency.offset_from
        ELSE dependency.offset_from
    END AS offset_day,
    to_char(to_timestamp(dependency.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS create_time
FROM dependency
JOIN task ON task.active_version_id = dependency.task_version_id AND task.id = dependency.task_id
WHERE task.removed_at IS NULL;

-- One row a schedule and task: a schedule of a dag is one of each of its tasks.
CREATE VIEW v_schedule AS
SELECT
    schedule.id AS schedule_id,
    task.id AS task_id,
    schedule.cron AS cron_expr,
    schedule.timezone AS timezone,
    schedule.start_date AS start_date,
    schedule.end_date AS end_date,
    1 - schedule.paused AS status,
    to_char(to_timestamp(schedule.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS create_time
FROM schedule
JOIN schedule_binding ON schedule_binding.schedule_id = schedule.id
JOIN task
    ON task.removed_at IS NULL
    AND (task.id = schedule_binding.task_id OR task.dag_id = schedule_binding.dag_id)
WHERE schedule.removed_at IS NULL;

-- The newest attempt of each task run.
CREATE VIEW v_execution AS
SELECT
    task_run.id AS exec_id,
    task_run.task_id AS task_id,
    run.schedule_id AS schedule_id,
    task_run.biz_date AS biz_date,
    CASE WHEN task_run.state IN ({{waiting_states}}) THEN {{pending}} ELSE task_run.state END
        AS status,
    to_char(to_timestamp(attempt.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS start_time,
    to_char(to_timestamp(attempt.finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS end_time,
    attempt.duration_ms AS duration_ms,
    greatest(task_run.attempt_no - task_run.rerun_base - 1, 0) AS attempt,
    run."trigger" AS trigger_type,
    attempt.log_uri AS log_path,
    attempt.error AS error_msg,
    to_char(to_timestamp(task_run.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS create_time
FROM task_run
JOIN run ON run.id = task_run.run_id
LEFT JOIN attempt
    ON attempt.task_run_id = task_run.id AND attempt.attempt_no = task_run.attempt_no
    AND attempt.nominal_at = task_run.nominal_at;

CREATE VIEW v_tasks AS
SELECT
    task.key AS task_id,
    dag.key AS schedule_id,
    coalesce(task.created_by, 'system') AS creator,
    to_char(to_timestamp(task.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS create_time,
    coalesce(task_version.created_by, task.created_by, 'system') AS modifier,
    to_char(to_timestamp(task.updated_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS modified_time,
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
    to_char(to_timestamp(coalesce(newest.finished_at, newest.started_at, newest.created_at) / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS last_update_time,
    to_char(to_timestamp(coalesce(newest.finished_at, newest.started_at, newest.created_at) / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS updated_at,
    newest.id AS last_task_run_id,
    newest.run_id AS last_schedule_run_id,
    newest.run_id AS last_run_id,
    CASE newest.state {{state_codes}} END AS running_state,
    newest.state AS state,
    CASE WHEN newest.state = {{running}} THEN node.host || ':' || node.pid END
        AS running_cluster_node,
    attempt.node_id AS node_id,
    CASE WHEN newest.state = {{running}}
        THEN to_char(to_timestamp(node.heartbeat_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
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
    AND attempt.nominal_at = newest.nominal_at
LEFT JOIN node ON node.id = attempt.node_id
WHERE task.removed_at IS NULL;

-- The whole picture in one: task, schedule, dependencies, run, newest attempt.
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
    to_char(to_timestamp(run.nominal_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS nominal_at,
    run.biz_date AS biz_date,
    run.state AS run_state,
    task_run.state AS state,
    CASE task_run.state {{state_codes}} END AS state_code,
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
    to_char(to_timestamp(attempt.started_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS started_at,
    to_char(to_timestamp(attempt.finished_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS finished_at,
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
    AND attempt.nominal_at = task_run.nominal_at
LEFT JOIN node ON node.id = attempt.node_id;
