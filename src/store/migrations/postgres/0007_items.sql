-- Items of mapped tasks: task runs of their own beside the one that stands for them all, whose
-- map_index is -1. What an item is given is JSON text; a row without it is no item.
ALTER TABLE task_run ADD COLUMN item TEXT COLLATE "C";

DROP VIEW v_tasks;
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
    -- An item says nothing of the task; the row of the whole does.
    WHERE task_run.task_id = task.id AND task_run.item IS NULL
    ORDER BY task_run.nominal_at DESC, task_run.id DESC
    LIMIT 1
)
LEFT JOIN attempt ON attempt.task_run_id = newest.id AND attempt.attempt_no = newest.attempt_no
    AND attempt.nominal_at = newest.nominal_at
LEFT JOIN node ON node.id = attempt.node_id
WHERE task.removed_at IS NULL;

DROP VIEW v_runs;
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
    attempt.log_uri AS log_uri,
    CASE WHEN task_run.item IS NOT NULL THEN task_run.map_index END AS map_index
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
