//! The texts of all statements: one statement a file, named after what it does.
//!
//! `sql/common` is what every dialect understands: `$n` placeholders that appear in the order of
//! their numbers (SQLite numbers them by appearance), plain integers, no clock, no dialect's own
//! functions. What has to differ lies in a folder of its dialect under the same name.

macro_rules! texts {
    ($($name:ident = $file:literal;)+) => {
        $(pub(in crate::store) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)+

        /// Every text with its name, for the tests.
        #[cfg(test)]
        pub(in crate::store) const ALL: &[(&str, &str)] = &[$(($file, $name),)+];
    };
}

texts! {
    ASSET_CLEAR = "common/asset_clear";
    ASSET_DECLARE = "common/asset_declare";
    ASSET_DECLARED = "common/asset_declared";
    ASSET_INSERT = "common/asset_insert";
    ASSET_KNOWN = "common/asset_known";
    ASSET_OF_TASK = "common/asset_of_task";
    ASSET_PRODUCER = "common/asset_producer";
    ATTEMPT_END = "common/attempt_end";
    ATTEMPT_INSERT = "common/attempt_insert";
    ATTEMPT_OF_RUN = "common/attempt_of_run";
    ATTEMPT_OF_TASK_RUN = "common/attempt_of_task_run";
    BACKFILL_CELLS = "common/backfill_cells";
    BACKFILL_COUNTS = "common/backfill_counts";
    BACKFILL_INSERT = "common/backfill_insert";
    BACKFILL_LIST = "common/backfill_list";
    BACKFILL_MOVE = "common/backfill_move";
    BACKFILL_NEXT = "common/backfill_next";
    BACKFILL_OF_HASH = "common/backfill_of_hash";
    BACKFILL_OF_SCOPE = "common/backfill_of_scope";
    BACKFILL_OPEN = "common/backfill_open";
    BACKFILL_READ = "common/backfill_read";
    BACKFILL_RUN_PLACES = "common/backfill_run_places";
    BACKFILL_RUNS_MOVE = "common/backfill_runs_move";
    BACKFILL_SCOPE_MOVE = "common/backfill_scope_move";
    CELL_FILLED = "common/cell_filled";
    CODE_KEEP = "common/code_keep";
    CODE_READ = "common/code_read";
    DAG_INSERT = "common/dag_insert";
    DAG_KEYS = "common/dag_keys";
    DAG_READ = "common/dag_read";
    DAG_REMOVE = "common/dag_remove";
    DAG_REVISIONS = "common/dag_revisions";
    DAG_TOUCH = "common/dag_touch";
    DAG_UPDATE = "common/dag_update";
    DEPENDENCY_INSERT = "common/dependency_insert";
    DEPENDENT_EDGES = "common/dependent_edges";
    EDGE_OF_DAG = "common/edge_of_dag";
    HISTORY_ATTEMPTS = "common/history_attempts";
    HISTORY_COUNT_RUNS = "common/history_count_runs";
    HISTORY_FIRST_ATTEMPT = "common/history_first_attempt";
    HISTORY_NARROW_ATTEMPTS = "common/history_narrow_attempts";
    HISTORY_NARROW_TASK_RUNS = "common/history_narrow_task_runs";
    HISTORY_RUNS = "common/history_runs";
    HISTORY_TASK_RUNS = "common/history_task_runs";
    JOURNAL_HEAD = "common/journal_head";
    JOURNAL_INSERT = "common/journal_insert";
    JOURNAL_OF_RUN = "common/journal_of_run";
    LEASE_DROP = "common/lease_drop";
    LEASE_DROP_ENDED = "common/lease_drop_ended";
    LEASE_INSERT = "common/lease_insert";
    LEASE_OF_RUN = "common/lease_of_run";
    LEASE_STOP = "common/lease_stop";
    LIFE_NEXT = "common/life_next";
    LIFE_PERIODS = "common/life_periods";
    LIFE_SKIPS = "common/life_skips";
    LIMIT_SET = "common/limit_set";
    NAMES_OF_DAGS = "common/names_of_dags";
    NAMES_OF_DAGS_BY_TASK = "common/names_of_dags_by_task";
    NAMES_OF_HOSTS = "common/names_of_hosts";
    NAMES_OF_SCHEDULES = "common/names_of_schedules";
    NAMES_OF_TASKS = "common/names_of_tasks";
    NAMES_OF_VERSIONS = "common/names_of_versions";
    NODE_BEAT = "common/node_beat";
    NODE_INSERT = "common/node_insert";
    NODE_OF_SCOPE = "common/node_of_scope";
    NODE_READ = "common/node_read";
    NODE_STOP = "common/node_stop";
    OUTBOX_ONCE = "common/outbox_once";
    PAST_DURATIONS = "common/past_durations";
    PAST_OF_TASK = "common/past_of_task";
    PERIOD_AHEAD = "common/period_ahead";
    PERIOD_CLOSE = "common/period_close";
    PERIOD_INSERT = "common/period_insert";
    PERIOD_OPEN = "common/period_open";
    PERIOD_REPLACE = "common/period_replace";
    POOL_AGE = "common/pool_age";
    POOL_AGEING = "common/pool_ageing";
    POOL_LIST = "common/pool_list";
    POOL_SET = "common/pool_set";
    POOL_USE = "common/pool_use";
    RELEASE_END = "common/release_end";
    RELEASE_INSERT = "common/release_insert";
    RELEASE_OF_DAG = "common/release_of_dag";
    RELEASE_OPEN = "common/release_open";
    REQUEST_ANSWER = "common/request_answer";
    REQUEST_INSERT = "common/request_insert";
    REQUEST_OPEN = "common/request_open";
    REQUEST_READ = "common/request_read";
    RUN_BLOCKED = "common/run_blocked";
    RUN_INSERT = "common/run_insert";
    RUN_LIST = "common/run_list";
    RUN_MOVE = "common/run_move";
    RUN_OF_SCOPE = "common/run_of_scope";
    RUN_READ = "common/run_read";
    RUN_SCHEDULE_INSERT = "common/run_schedule_insert";
    RUN_SCOPE_MOVE = "common/run_scope_move";
    RUN_TIMED = "common/run_timed";
    SCHEDULE_BIND = "common/schedule_bind";
    SCHEDULE_FIRING = "common/schedule_firing";
    SCHEDULE_INSERT = "common/schedule_insert";
    SCHEDULE_OF_DAG = "common/schedule_of_dag";
    SCHEDULE_OF_REMOVED_DAG = "common/schedule_of_removed_dag";
    SCHEDULE_PAUSE = "common/schedule_pause";
    SCHEDULE_REMOVE = "common/schedule_remove";
    SCHEDULE_STANDING = "common/schedule_standing";
    SCHEDULE_UNBIND = "common/schedule_unbind";
    SCHEDULE_UPDATE = "common/schedule_update";
    SCHEDULE_WATERMARK = "common/schedule_watermark";
    SCOPE_FOUND = "common/scope_found";
    SCOPE_HELD = "common/scope_held";
    SCOPE_INSERT = "common/scope_insert";
    SCOPE_LEAD = "common/scope_lead";
    SCOPE_NAMED = "common/scope_named";
    SCOPE_OPEN = "common/scope_open";
    SCOPE_READ = "common/scope_read";
    SCOPE_TAKE = "common/scope_take";
    SEQUENCE_MOVE = "common/sequence_move";
    SEQUENCE_READ = "common/sequence_read";
    SKIP_AHEAD = "common/skip_ahead";
    SKIP_AT = "common/skip_at";
    SKIP_BEFORE = "common/skip_before";
    SKIP_EXTEND = "common/skip_extend";
    SKIP_INSERT = "common/skip_insert";
    SKIP_OF_DAG = "common/skip_of_dag";
    TASK_ACTIVATE = "common/task_activate";
    TASK_ENABLE = "common/task_enable";
    TASK_FIND = "common/task_find";
    TASK_FREE_RESOURCE = "common/task_free_resource";
    TASK_ID = "common/task_id";
    TASK_INSERT = "common/task_insert";
    TASK_NAME = "common/task_name";
    TASK_OF_DAG = "common/task_of_dag";
    TASK_REGISTER = "common/task_register";
    TASK_RELEASE = "common/task_release";
    TASK_REMOVE = "common/task_remove";
    TASK_RESOURCE = "common/task_resource";
    TASK_RUN_COUNTS = "common/task_run_counts";
    TASK_RUN_EARLIER = "common/task_run_earlier";
    TASK_RUN_INSERT = "common/task_run_insert";
    TASK_RUN_OF_RUN = "common/task_run_of_run";
    TASK_RUN_OUTDATE = "common/task_run_outdate";
    TASK_RUN_OVERDUE = "common/task_run_overdue";
    TASK_RUN_PROGRESS = "common/task_run_progress";
    TASK_RUN_RESULT = "common/task_run_result";
    TASK_RUN_STALE = "common/task_run_stale";
    TASK_RUN_STANDS = "common/task_run_stands";
    TASK_RUN_VIEW = "common/task_run_view";
    TASKS_BY_NAME = "common/tasks_by_name";
    TASK_STANDING = "common/task_standing";
    UPSTREAM_ENDS = "common/upstream_ends";
    UPSTREAM_ENDS_AFTER = "common/upstream_ends_after";
    UPSTREAM_OF_DATE = "common/upstream_of_date";
    UPSTREAM_OF_FIRE = "common/upstream_of_fire";
    UPSTREAM_TASK = "common/upstream_task";
    VERIFY_BACKFILLS = "common/verify_backfills";
    VERIFY_BACKFILL_RUNS = "common/verify_backfill_runs";
    VERIFY_FIRED = "common/verify_fired";
    VERIFY_ORPHANS = "common/verify_orphans";
    VERIFY_PERIODS = "common/verify_periods";
    VERIFY_POOLS = "common/verify_pools";
    VERIFY_RELEASES = "common/verify_releases";
    VERIFY_RUNS = "common/verify_runs";
    VERIFY_SCHEDULES = "common/verify_schedules";
    VERIFY_SKIPS = "common/verify_skips";
    VERIFY_TIMED = "common/verify_timed";
    VERSION_ID = "common/version_id";
    VERSION_INSERT = "common/version_insert";
    VERSION_LIST = "common/version_list";
    VERSION_OF_DAG = "common/version_of_dag";
    VERSION_OF_TASK = "common/version_of_task";
    VERSION_READ = "common/version_read";
    VERSION_WALK = "common/version_walk";
}

/// The same for SQLite, with what it says in its own words.
#[cfg(feature = "sqlite")]
pub(super) mod sqlite {
    pub(in crate::store) use super::*;

    texts! {
        BACKFILL_RUN_FILL = "sqlite/backfill_run_fill";
        BACKFILL_RUN_INSERT = "sqlite/backfill_run_insert";
        CELL_OPEN = "sqlite/cell_open";
        LIFE_FIRED = "sqlite/life_fired";
        LIMIT_LIST = "sqlite/limit_list";
        LIMIT_USE = "sqlite/limit_use";
        VERIFY_LIMITS = "sqlite/verify_limits";
    }
}

/// The same for PostgreSQL.
#[cfg(feature = "postgres")]
pub(super) mod postgres {
    pub(in crate::store) use super::*;

    texts! {
        ATTEMPT_END_MANY = "postgres/attempt_end_many";
        ATTEMPT_INSERT_MANY = "postgres/attempt_insert_many";
        BACKFILL_RUN_FILL_MANY = "postgres/backfill_run_fill_many";
        BACKFILL_RUN_INSERT_MANY = "postgres/backfill_run_insert_many";
        CELL_OPEN_MANY = "postgres/cell_open_many";
        CHANGED = "postgres/changed";
        IDENTITY = "postgres/identity";
        JOURNAL_INSERT_MANY = "postgres/journal_insert_many";
        LEASE_DROP_MANY = "postgres/lease_drop_many";
        LEASE_INSERT_MANY = "postgres/lease_insert_many";
        LEASE_STOP_MANY = "postgres/lease_stop_many";
        LIFE_FIRED = "postgres/life_fired";
        LIMIT_LIST = "postgres/limit_list";
        LIMIT_USE = "postgres/limit_use";
        MARKER_INSERT = "postgres/marker_insert";
        MARKER_MOVE = "postgres/marker_move";
        MARKER_READ = "postgres/marker_read";
        MIGRATION_LOCK = "postgres/migration_lock";
        MONTH_ATTACH = "postgres/month_attach";
        MONTH_FIND = "postgres/month_find";
        MONTH_TABLE = "postgres/month_table";
        RIGHTS_MISSING = "postgres/rights_missing";
        RUN_INSERT_MANY = "postgres/run_insert_many";
        RUN_MOVE_MANY = "postgres/run_move_many";
        RUN_SCHEDULE_INSERT_MANY = "postgres/run_schedule_insert_many";
        RUN_TIMED_MANY = "postgres/run_timed_many";
        TASK_RUN_INSERT_MANY = "postgres/task_run_insert_many";
        TASK_RUN_MOVED = "postgres/task_run_moved";
        TASK_RUN_NOMINAL = "postgres/task_run_nominal";
        TASK_RUN_PROGRESS_MANY = "postgres/task_run_progress_many";
        TASK_RUN_STALE_MANY = "postgres/task_run_stale_many";
        VERIFY_LIMITS = "postgres/verify_limits";
        WHAT_BECAME = "postgres/what_became";
        WRITTEN_AS = "postgres/written_as";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_file_is_a_text_and_every_text_a_file() {
        let folder = |kind: &'static str| {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/sql");
            let files = std::fs::read_dir(format!("{root}/{kind}")).unwrap();
            let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
            names.map(move |name| format!("{kind}/{}", name.replace(".sql", "")))
        };
        #[allow(unused_mut, reason = "not every build has both dialects")]
        let (mut files, mut all) = (folder("common").collect::<BTreeSet<_>>(), super::ALL.to_vec());
        #[cfg(feature = "sqlite")]
        {
            files.extend(folder("sqlite"));
            all.extend(super::sqlite::ALL);
        }
        #[cfg(feature = "postgres")]
        {
            files.extend(folder("postgres"));
            all.extend(super::postgres::ALL);
        }
        let texts: BTreeSet<String> = all.iter().map(|(name, _)| (*name).into()).collect();
        assert_eq!(texts, files);
        assert!(all.iter().all(|(_, text)| !text.contains('?')));
    }
}
