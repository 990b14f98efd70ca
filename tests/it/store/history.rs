//! The columns of the history: each can be read, and what is asked wrongly is said.

use mainspring::model::Date;
use mainspring::store::{
    Column, HistoryAsk, HistoryCell, Kind, Level, SqliteStore, TakeHistory, known_words,
    read_history,
};

use super::support::file::open;

/// Counts, and refuses after some rows.
struct Counter {
    cells: usize,
    rows: usize,
    most: usize,
    names: Vec<(usize, i64, String)>,
}

impl TakeHistory for Counter {
    type Error = &'static str;

    fn name(&mut self, column: usize, id: i64, name: &str) {
        self.names.push((column, id, name.to_owned()));
    }

    fn cell(&mut self, _: usize, _: HistoryCell<'_>) -> Result<(), Self::Error> {
        self.cells += 1;
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), Self::Error> {
        self.rows += 1;
        if self.rows > self.most { Err("enough") } else { Ok(()) }
    }
}

fn ask(level: Level) -> HistoryAsk {
    HistoryAsk {
        level,
        columns: level.columns().iter().collect(),
        dag: None,
        tasks: Vec::new(),
        words: Vec::new(),
        triggers: Vec::new(),
        biz_date_from: None,
        biz_date_to: None,
        from: None,
        to: None,
        limit: None,
        gone: Vec::new(),
    }
}

/// The rows that a store without foreign keys takes at face value.
fn filled() -> SqliteStore {
    let store = open(":memory:");
    let text = "
        INSERT INTO dag (id, key, labels, timezone, max_active_runs, definition, revision,
            created_at, updated_at) VALUES (1, 'orders', '', 'UTC', 1, '{}', 1, 0, 0);
        INSERT INTO dag (id, key, labels, timezone, max_active_runs, definition, revision,
            created_at, updated_at) VALUES (2, 'other', '', 'UTC', 1, '{}', 1, 0, 0);
        INSERT INTO task (id, dag_id, key, name, labels, active_version_id, type, position,
            created_at, updated_at)
            VALUES (1, 1, 'orders.load', 'load', '', 1, 'python', 0, 0, 0);
        INSERT INTO run (id, dag_id, nominal_at, biz_date, interval_start, interval_end, timezone,
            \"trigger\", timed, interactive, params, state, created_at, finished_at, scope_id,
            first_task_run_id, task_count)
            VALUES (1, 1, 0, '2024-01-01', 0, 0, 'UTC', 'manual', 0, 0, '{}', 'SUCCESS', 0, 9, 1,
                1, 1);
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9)
        INSERT INTO run (id, dag_id, nominal_at, biz_date, interval_start, interval_end, timezone,
            \"trigger\", timed, interactive, params, state, created_at, finished_at, scope_id,
            first_task_run_id, task_count)
            SELECT id + n, 2, 0, '2024-01-02', 0, 0, timezone, \"trigger\", 0, 0, '{}', state, 0, 9,
                1, 1, 0 FROM n CROSS JOIN run;
        INSERT INTO task_run (id, run_id, task_id, task_version_id, map_index, nominal_at,
            biz_date, created_at, state, revision, attempt_no, rerun_base, errors_used,
            losses_used, preemptions_used, token, stale, finished_at)
            VALUES (1, 1, 1, 1, 0, 0, '2024-01-01', 0, 'SUCCESS', 1, 3, 0, 0, 0, 0, 0, 0, 9);
        INSERT INTO attempt (id, task_run_id, attempt_no, token, nominal_at, task_version_id,
            node_id, started_at, finished_at, outcome)
            VALUES (1, 1, 1, 0, 0, 1, 1, 1, 2, 'FAILED'), (2, 1, 2, 0, 0, 1, 1, 3, 4, 'FAILED'),
                (3, 1, 3, 0, 0, 1, 1, 5, 9, 'SUCCESS');";
    store.connection().execute_batch(text).unwrap();
    store
}

fn counted(store: &mut SqliteStore, ask: &HistoryAsk) -> (usize, usize) {
    let mut counter = Counter { cells: 0, rows: 0, most: usize::MAX, names: Vec::new() };
    read_history(store, ask, &mut counter).unwrap().unwrap();
    assert!(!ask.columns.iter().any(|c| c.name == "dag") || !counter.names.is_empty());
    (counter.rows, counter.cells)
}

#[test]
fn every_column_of_every_level_is_read_by_every_way() {
    let mut store = filled();
    for (level, _) in Level::ALL {
        let (rows, all) = match level {
            Level::Attempt => (3, 3),
            Level::TaskRun => (1, 1),
            Level::Run => (1, 10),
        };
        let wide = level.columns().len();
        assert_eq!(counted(&mut store, &ask(*level)), (all, all * wide));
        let many = HistoryAsk { biz_date_to: Date::from_ymd(2024, 1, 2), ..ask(*level) };
        assert_eq!(counted(&mut store, &many), (all, all * wide));
        let few = HistoryAsk { biz_date_to: Date::from_ymd(2024, 1, 1), ..ask(*level) };
        assert_eq!(counted(&mut store, &few), (rows, rows * wide));
        let narrow = HistoryAsk { dag: Some("orders".into()), ..ask(*level) };
        assert_eq!(counted(&mut store, &narrow), (rows, rows * wide));
        let none = HistoryAsk { dag: Some("order".into()), ..ask(*level) };
        assert_eq!(counted(&mut store, &none), (0, 0));
        let limited = HistoryAsk { limit: Some(1), ..narrow };
        assert_eq!(counted(&mut store, &limited), (1, wide));
        let names: Vec<&str> = level.columns().iter().map(|column| column.name).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "each name once");
    }
}

#[test]
fn whoever_takes_the_cells_may_stop() {
    let mut store = filled();
    for dag in [None, Some("orders".to_owned())] {
        let mut counter = Counter { cells: 0, rows: 0, most: 1, names: Vec::new() };
        let asked = HistoryAsk { dag, ..ask(Level::Attempt) };
        assert_eq!(read_history(&mut store, &asked, &mut counter).unwrap(), Err("enough"));
        assert_eq!(counter.rows, 2);
    }
}

#[test]
fn columns_and_words_that_there_are_not_are_all_named() {
    let names = ["dag", "outcom", "dag", "tsk"].map(str::to_owned);
    let problems = Level::Attempt.choose(&names).unwrap_err().0;
    let told: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "there is no column `outcom`",
            "column `dag` is asked for twice",
            "there is no column `tsk`"
        ]
    );
    assert_eq!(Level::Run.choose(&[]).unwrap_err().0[0].code, "no_columns");
    let chosen: Vec<&Column> = Level::Run.choose(&["state".to_owned()]).unwrap();
    assert_eq!((chosen[0].name, chosen[0].kind), ("state", Kind::Word));
    let wrong = known_words("state", &["FAILD".to_owned()], &Level::Run.words()).unwrap_err();
    assert_eq!(wrong.0[0].hint.as_deref(), Some("did you mean `FAILED`?"));
    assert_eq!(Level::parse("runs").unwrap_err().code, "unknown_choice");
}
