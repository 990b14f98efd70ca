-- Limits that dags share, queues that age, and how late task runs are.

-- What a live attempt holds besides the slots of its pool: a JSON object of limits and slots.
ALTER TABLE attempt_lease ADD COLUMN limits TEXT COLLATE "C";
CREATE INDEX attempt_lease_limits ON attempt_lease (task_run_id) WHERE limits IS NOT NULL;

-- For how long a wait makes up for one class; none is strict order.
ALTER TABLE pool ADD COLUMN ageing_ms BIGINT CHECK (ageing_ms > 0);

-- Until when it is to be finished, when it was seen to be open beyond that, and when it is given
-- up if it is BLOCKED until then.
ALTER TABLE task_run ADD COLUMN deadline_at BIGINT;
ALTER TABLE task_run ADD COLUMN overdue_at BIGINT;
ALTER TABLE task_run ADD COLUMN blocked_until BIGINT;
-- What time alone will have something to do with, also where its run has ended.
CREATE INDEX task_run_watched ON task_run (run_id)
    WHERE finished_at IS NULL
        AND (blocked_until IS NOT NULL OR deadline_at IS NOT NULL AND overdue_at IS NULL);
