SELECT
    task_run.id, task_run.run_id, task_run.task_id, task_run.task_version_id,
    task_run.map_index, task_run.nominal_at, task_run.biz_date, task_run.created_at,
    task_run.state, task_run.revision, task_run.first_ready_at, task_run.started_at,
    task_run.finished_at, task_run.attempt_no, task_run.rerun_base, task_run.errors_used,
    task_run.losses_used, task_run.preemptions_used, task_run.token, task_run.wake_at,
    task_run.blocked_by, task_run.code, task_run.stale, task_run.result_uri, task_run.result,
    task_run.deadline_at, task_run.overdue_at, task_run.blocked_until, task_run.item,
    task_run.fingerprint, task_run.unchanged,
    task.name, task_version.version, task_version.type
FROM task_run
JOIN task ON task.id = task_run.task_id
JOIN task_version ON task_version.id = task_run.task_version_id
WHERE task_run.run_id = $1
ORDER BY task_run.id
