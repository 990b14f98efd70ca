//! What every store must do, stamped for each of them.

mod commits;

macro_rules! suite {
    ($($module:ident :: $test:ident,)+) => {
        #[cfg(feature = "sqlite")]
        mod sqlite_in_memory {
            $(#[test]
            fn $test() {
                let options = mainspring::store::SqliteOptions::default();
                let mut store = mainspring::store::SqliteStore::open(":memory:", options).unwrap();
                super::$module::$test(&mut store);
            })+
        }
    };
}

suite! {
    commits::a_run_is_read_back_as_it_was_written,
    commits::a_batch_of_another_epoch_is_fenced,
}
