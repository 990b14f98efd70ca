//! What every store must do, stamped for each of them.

mod commits;
mod guards;
mod processes;
mod registers;

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
    };
}

suite! {
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
    guards::a_run_that_changed_is_refused,
    processes::a_process_joins_beats_and_leaves,
    processes::a_run_is_taken_over_and_its_old_holder_is_fenced,
    registers::what_is_registered_is_read_back,
    registers::the_same_again_changes_nothing,
    registers::changed_content_is_a_new_version_and_old_content_its_old_one,
    registers::an_authored_version_keeps_its_content,
    registers::a_task_that_left_may_come_back,
    registers::schedules_keep_their_pause,
    registers::cycles_across_dags_are_refused,
    registers::an_upstream_must_exist,
    registers::a_resource_may_pass_to_another_task,
}
