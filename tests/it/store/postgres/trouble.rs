//! A server that refuses for a while: who may not log in any more, one that takes no writes, one
//! without room. What was refused was not done, and is done when the trouble is over.

use mainspring::model::RunId;
use mainspring::store::{Batch, CommitError, CreatedRun, PostgresStore, Store as _, StoreError};

use crate::postgres::{fresh, reopen, server};
use crate::store::support::{Desk, new_run};

/// A store of a user of its own, with a run, and what makes another one.
struct Trouble {
    user: String,
    schema: String,
    store: PostgresStore,
    run: CreatedRun,
    batch: Batch,
}

impl Trouble {
    fn new() -> Trouble {
        let (user, schema) = (format!("u{}", fresh()), fresh());
        let text = format!("CREATE USER {user}; CREATE SCHEMA {schema} AUTHORIZATION {user}");
        server().psql("test", &text);
        let url = format!("{}&schema={schema}", server().place("test", &user));
        let mut store = reopen(&url);
        let mut desk = Desk::open(&mut store);
        let run = desk.create(0);
        let ids = desk.store.next_ids().unwrap();
        let mut batch = desk.batch();
        batch.expected = Some(ids);
        batch.created.push(new_run(&desk.dag, desk.lease, ids, 60));
        Trouble { user, schema, store, run, batch }
    }

    fn say(&self, text: &str) {
        server().psql("test", &text.replace("{u}", &self.user).replace("{s}", &self.schema));
    }

    /// Ends the connections of the user, so that new ones are made.
    fn hang_up(&self) {
        self.say("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{u}'");
    }

    fn refused(&mut self) -> StoreError {
        match self.store.commit(&self.batch) {
            Err(CommitError::Store(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    /// Now it is written, once, and all adds up.
    fn ends(mut self) {
        self.store.commit(&self.batch).unwrap();
        let made = self.batch.created[0].row.id;
        assert_eq!(self.store.stored_run(made).unwrap().unwrap().task_runs.len(), 3);
        assert_eq!(self.store.verify().unwrap(), []);
        assert_eq!(self.store.next_ids().unwrap().run, made.0 + 1);
    }
}

#[test]
fn who_may_not_log_in_any_more_is_told_so_and_goes_on_later() {
    let mut trouble = Trouble::new();
    trouble.say("ALTER USER {u} NOLOGIN");
    trouble.hang_up();
    for _ in 0..2 {
        let error = trouble.refused();
        let StoreError::Away { reason, hint, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("not permitted to log in"), "{error}");
        assert!(hint.contains("user and password"), "{error}");
    }
    trouble.say("ALTER USER {u} LOGIN");
    trouble.ends();
}

#[test]
fn a_server_that_takes_no_writes_is_waited_for_and_answers_questions() {
    let mut trouble = Trouble::new();
    trouble.say("ALTER USER {u} SET default_transaction_read_only = on");
    trouble.hang_up();
    let error = trouble.refused();
    let StoreError::Away { reason, hint, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("takes no writes") && hint.contains("host1,host2"), "{error}");
    let known: RunId = trouble.run.row.id;
    assert_eq!(trouble.store.stored_run(known).unwrap().unwrap().row, trouble.run.row);
    trouble.say("ALTER USER {u} RESET default_transaction_read_only");
    // The connection that led there was let go when the question had been answered over it.
    trouble.hang_up();
    trouble.ends();
}

#[test]
fn a_server_without_room_is_said_to_be_and_nothing_is_written() {
    let mut trouble = Trouble::new();
    // The run itself is written before.
    trouble.say(
        "CREATE FUNCTION {s}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION \
         'could not extend file' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON {s}.task_run FOR EACH ROW EXECUTE FUNCTION \
         {s}.full()",
    );
    for _ in 0..2 {
        let error = trouble.refused();
        let StoreError::Write { reason, hint, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("could not extend file"), "{error}");
        assert!(hint.contains("make room on the server's disk"), "{error}");
        let made = trouble.batch.created[0].row.id;
        assert_eq!(trouble.store.stored_run(made).unwrap(), None);
        assert_eq!(trouble.store.next_ids().unwrap().run, made.0);
    }
    trouble.say("DROP FUNCTION {s}.full() CASCADE");
    trouble.ends();
}
