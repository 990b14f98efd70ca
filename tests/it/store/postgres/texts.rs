//! What a server keeps otherwise than a file, is read back all the same.

use mainspring::store::{
    HistoryAsk, HistoryCell, Level, SqlStore as _, SqlValue, Store as _, StoreError, TakeHistory,
    read_history,
};

use crate::postgres::{fresh, open, reopen, server};
use crate::store::support::{Desk, at, flights};

#[test]
fn output_with_a_nul_is_kept_with_a_picture_of_it() {
    let mut store = open();
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 1);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    desk.end(&mut batch, &mut run, 0, 2);
    batch.ends[0].end.record.log_tail = Some("a\0b".into());
    batch.ends[0].end.record.error = Some("\u{1f600}\0".into());
    desk.store.commit(&batch).unwrap();
    let attempts = mainspring::store::AttemptFilter::Run(run.row.id);
    let record = desk.store.attempts(&attempts).unwrap().remove(0).record;
    assert_eq!(record.log_tail.as_deref(), Some("a\u{2400}b"));
    assert_eq!(record.error.as_deref(), Some("\u{1f600}\u{2400}"));
}

#[test]
fn keys_are_sorted_byte_by_byte() {
    let mut store = open();
    let keys = ["b", "A", "a", "Z", "é", "_x"];
    let dags: Vec<_> = keys.iter().map(|key| crate::store::support::dag(key, vec![])).collect();
    store.register(&dags, at(0)).unwrap();
    assert_eq!(store.dag_keys().unwrap(), ["A", "Z", "_x", "a", "b", "é"]);
}

#[test]
fn a_question_in_sql_is_answered_and_none_that_writes() {
    let mut store = open();
    store.register(&[flights()], at(0)).unwrap();
    for text in ["DELETE FROM task", "CREATE TABLE t (a int)", "UPDATE dag SET key = 'x'"] {
        assert!(matches!(store.ask(text, &[]), Err(StoreError::Writes)), "{text}");
    }
    let text = "SELECT count(*) AS n, sum(id) / 4 AS quarter, max(key) AS key, CAST(NULL AS TEXT) AS \
                nothing FROM task WHERE id >= $1";
    let table = store.ask(text, &[SqlValue::Integer(1)]).unwrap();
    assert_eq!(table.columns, ["n", "quarter", "key", "nothing"]);
    let key = SqlValue::Text("flights.load".into());
    assert_eq!(table.rows, [[SqlValue::Integer(3), SqlValue::Real(1.5), key, SqlValue::Null]]);
    let wrong = store.ask("SELECT nothing FROM nowhere", &[]).unwrap_err().to_string();
    assert!(wrong.contains("nowhere"), "{wrong}");
    // And goes on after it.
    assert_eq!(store.dag_keys().unwrap(), ["flights"]);
}

#[test]
fn every_view_answers() {
    let mut store = open();
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 1);
    desk.store.commit(&batch).unwrap();
    let views = store
        .ask(
            "SELECT table_name FROM information_schema.views WHERE table_schema = current_schema() \
             ORDER BY 1",
            &[],
        )
        .unwrap();
    assert_eq!(views.rows.len(), 10, "{views:?}");
    for row in views.rows {
        let [SqlValue::Text(view)] = &row[..] else { panic!("{row:?}") };
        store.ask(&format!("SELECT * FROM {view}"), &[]).unwrap_or_else(|e| panic!("{view}: {e}"));
    }
    let text = "SELECT task, state, attempt_no, node, nominal_at FROM v_runs ORDER BY task_run_id";
    let shown = store.ask(text, &[]).unwrap();
    let text = |text: &str| SqlValue::Text(text.into());
    assert_eq!(
        shown.rows[0],
        [
            text("flights.fetch"),
            text("RUNNING"),
            SqlValue::Integer(1),
            text("here:1"),
            text("2024-01-15 02:00:00")
        ]
    );
}

#[test]
fn whoever_looks_sees_that_others_have_written() {
    let url = server().url(&fresh());
    let (mut mine, mut other) = (reopen(&url), reopen(&url));
    mine.changed().unwrap();
    other.register(&[flights()], at(0)).unwrap();
    assert!(mine.changed().unwrap());
}

#[test]
fn a_check_refuses_words_that_nobody_knows() {
    let schema = fresh();
    let mut store = reopen(&server().url(&schema));
    Desk::open(&mut store).create(0);
    for text in [
        "UPDATE run SET state = 'LOST'",
        "UPDATE task_run SET state = 'WAITING'",
        "UPDATE task_run SET finished_at = 1",
    ] {
        let text = format!(
            "DO $$ BEGIN {schema_text}; RAISE 'accepted'; EXCEPTION WHEN check_violation THEN NULL; \
             END $$",
            schema_text = text.replace("UPDATE ", &format!("UPDATE {schema}."))
        );
        server().psql("test", &text);
    }
}

/// Counts, and keeps nothing.
#[derive(Default)]
struct Counter {
    cells: usize,
    rows: usize,
}

impl TakeHistory for Counter {
    type Error = ();

    fn name(&mut self, _: usize, _: i64, _: &str) {}

    fn cell(&mut self, _: usize, _: HistoryCell<'_>) -> Result<(), ()> {
        self.cells += 1;
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), ()> {
        self.rows += 1;
        Ok(())
    }
}

#[test]
fn every_column_of_the_history_is_read() {
    let mut store = open();
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 1);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    desk.end(&mut batch, &mut run, 0, 2);
    desk.store.commit(&batch).unwrap();
    for (level, rows) in [(Level::Attempt, 1), (Level::TaskRun, 3), (Level::Run, 1)] {
        for (dag, from) in [(None, None), (Some("flights".to_owned()), Some(at(-5)))] {
            let mut counter = Counter::default();
            let ask = HistoryAsk {
                level,
                columns: level.columns().iter().collect(),
                dag,
                tasks: Vec::new(),
                words: Vec::new(),
                triggers: Vec::new(),
                biz_date_from: None,
                biz_date_to: None,
                from,
                to: None,
                limit: None,
                gone: Vec::new(),
            };
            read_history(&mut store, &ask, &mut counter).unwrap().unwrap();
            assert_eq!((counter.rows, counter.cells), (rows, rows * level.columns().len()));
        }
    }
    assert_eq!(store.open_scopes().unwrap().len(), 1);
}
