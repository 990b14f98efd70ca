//! What every store must do, stamped for each of them.

mod backfills;
mod commits;
mod edges;
mod fires;
mod guards;
mod items;
mod limits;
mod past;
mod processes;
mod registers;
mod releases;
mod requests;
mod schedules;

macro_rules! suite {
    ($($module:ident :: $test:ident,)+) => {
        mod memory {
            $(#[test]
            fn $test() {
                super::$module::$test(&mut mainspring::store::MemoryStore::new());
            })+
        }

        #[cfg(feature = "sqlite")]
        mod sqlite_in_memory {
            $(#[test]
            fn $test() {
                let mut store = crate::store::support::file::open(":memory:");
                super::$module::$test(&mut store);
            })+
        }

        #[cfg(feature = "sqlite")]
        mod sqlite_file {
            $(#[test]
            fn $test() {
                let folder = crate::store::support::file::Folder::new();
                let mut store = crate::store::support::file::open(folder.file("store.db"));
                super::$module::$test(&mut store);
            })+
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[test]
            fn $test() {
                super::$module::$test(&mut crate::postgres::open());
            })+
        }
    };
}

suite! {
    backfills::a_backfill_is_read_back_with_all_its_places,
    backfills::a_place_has_one_run_at_most,
    backfills::a_plan_is_applied_once_and_beside_no_open_one,
    backfills::a_run_of_a_cell_that_is_open_elsewhere_is_refused,
    backfills::what_is_asked_for_waits_for_the_backfill_that_computes_it,
    backfills::a_backfill_moves_from_where_it_stands,
    backfills::a_backfill_is_taken_over_with_its_runs,
    commits::a_run_is_read_back_as_it_was_written,
    commits::an_attempt_may_begin_where_another_one_ends,
    commits::an_attempt_may_begin_and_end_in_one_batch,
    commits::a_lease_stays_until_the_thread_is_gone,
    commits::stale_marks_and_stops_are_kept,
    commits::runs_are_found_by_what_they_are,
    guards::a_batch_of_another_epoch_is_fenced,
    guards::ids_that_are_taken_are_refused_and_named,
    guards::a_timed_run_is_made_once,
    guards::a_task_run_that_changed_is_refused,
    guards::an_attempt_ends_once_and_with_its_token,
    guards::a_refused_batch_writes_nothing,
    guards::a_pool_is_never_overfull,
    guards::what_takes_no_slot_is_in_no_pools_way,
    guards::a_run_that_changed_is_refused,
    items::items_are_read_back_after_what_the_plan_has,
    items::items_of_several_runs_are_not_mixed_up,
    items::ids_of_items_that_are_taken_are_refused,
    items::what_was_removed_is_not_counted,
    limits::a_limit_is_never_overfull,
    limits::a_task_is_never_more_active_than_it_may_be,
    limits::a_pool_may_age,
    limits::a_deadline_is_noted_and_told_once,
    limits::runs_that_wait_for_time_alone_are_found,
    past::what_became_of_cells_is_told,
    past::what_was_left_as_it_was_is_the_success_before,
    processes::a_process_joins_beats_and_leaves,
    processes::a_run_is_taken_over_and_its_old_holder_is_fenced,
    processes::one_node_at_a_time_leads,
    processes::the_open_runs_of_a_scope_are_found,
    edges::an_upstream_is_told_with_the_lives_of_its_schedules,
    edges::who_waits_for_a_task_is_found,
    edges::ends_that_a_follower_has_not_seen_are_found,
    edges::an_end_that_was_left_as_it_was_has_the_output_of_the_success_before,
    edges::since_when_a_task_is_so_is_told_by_its_versions,
    edges::an_asset_is_declared_once_for_a_date,
    edges::a_task_is_disabled_and_enabled,
    edges::runs_in_which_something_is_blocked_are_found,
    fires::a_watermark_moves_on_from_where_it_was,
    fires::a_watermark_is_refused_that_was_decided_of_an_older_schedule,
    fires::what_lies_behind_the_watermark_is_not_told,
    fires::skips_are_noted_joined_and_told,
    fires::a_pause_is_a_period,
    fires::a_timed_run_is_one_of_its_target_and_values,
    fires::one_batch_makes_a_timed_run_once,
    fires::a_run_knows_the_schedules_it_comes_from,
    registers::what_is_registered_is_read_back,
    registers::the_same_again_changes_nothing,
    registers::changed_content_is_a_new_version_and_old_content_its_old_one,
    registers::an_authored_version_keeps_its_content,
    registers::a_task_that_left_may_come_back,
    registers::schedules_keep_their_pause,
    registers::cycles_across_dags_are_refused,
    registers::an_upstream_must_exist,
    registers::a_resource_may_pass_to_another_task,
    releases::a_rollback_pins_the_version_before,
    releases::registering_does_not_undo_a_pin,
    releases::a_share_leaves_the_rest_to_the_version_before,
    releases::a_release_says_what_is_wrong_with_it,
    releases::versions_that_do_not_fit_together_are_refused,
    releases::the_circle_of_a_chosen_version_may_go_through_another_dag,
    releases::a_resource_of_a_chosen_version_is_taken,
    releases::what_schedules_give_must_be_what_the_chosen_versions_take,
    releases::the_content_of_files_is_kept_by_version,
    requests::a_request_is_read_back_and_answered_once,
    requests::the_lives_of_schedules_are_told_one_after_the_other,
    schedules::a_new_schedule_begins_to_live_now,
    schedules::everything_that_a_schedule_says_is_read_back,
    schedules::the_same_schedules_again_change_nothing,
    schedules::another_rule_begins_another_period,
    schedules::a_clock_that_was_set_back_makes_no_period,
    schedules::what_does_not_change_the_fires_begins_no_period,
    schedules::a_removed_schedule_is_there_until_its_fires_are_covered,
    schedules::a_schedule_that_never_fired_leaves_at_once,
    schedules::a_renamed_schedule_is_the_same_one,
    schedules::a_name_is_given_on_once_and_only_when_it_is_free,
    schedules::a_schedule_fires_tasks_of_its_dag,
    schedules::a_dag_leaves_with_its_schedules_and_comes_back,
    schedules::who_registers_second_finds_it_done,
}
