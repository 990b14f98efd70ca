//! The history is told as a file tells it, whatever is asked of it.

use mainspring::engine::RunMove;
use mainspring::model::{Date, Instant, RunState, Trigger};
use mainspring::store::{
    HistoryAsk, HistoryCell, Level, SqlStore, Store, TakeHistory, read_history,
};

use crate::postgres::open;
use crate::store::support::{Desk, at, dag, flights, new_run, task};

/// Everything that is told, in its order.
#[derive(Default, Debug, PartialEq)]
struct Told {
    names: Vec<(usize, i64, String)>,
    cells: Vec<String>,
    rows: usize,
}

impl TakeHistory for Told {
    type Error = ();

    fn name(&mut self, column: usize, id: i64, name: &str) {
        self.names.push((column, id, name.to_owned()));
    }

    fn cell(&mut self, _: usize, cell: HistoryCell<'_>) -> Result<(), ()> {
        self.cells.push(format!("{cell:?}"));
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), ()> {
        self.rows += 1;
        Ok(())
    }
}

fn told(store: &mut dyn SqlStore, ask: &HistoryAsk) -> Told {
    let mut told = Told::default();
    read_history(store, ask, &mut told).unwrap().unwrap();
    told.names.sort();
    told
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

fn day(text: &str) -> Option<Date> {
    Some(Date::parse(text).unwrap())
}

/// Eight runs of one dag on eight days and four of another on one; some have ended, some live.
fn fill(store: &mut dyn Store) {
    let desk = Desk::open(store);
    let other = dag("other", vec![task("only", &[])]);
    let other = desk.store.register(&[flights(), other], at(0)).unwrap().remove(1);
    for nth in 0..8i64 {
        let ids = desk.store.next_ids().unwrap();
        let mut run = new_run(&desk.dag, desk.lease, ids, nth * 86_400);
        run.row.biz_date = Date(run.row.biz_date.0 + nth as i32);
        if nth == 3 {
            run.row.trigger = Trigger::Schedule;
        }
        for row in &mut run.task_runs {
            row.biz_date = run.row.biz_date;
        }
        let mut batch = desk.batch();
        batch.created.push(run.clone());
        desk.store.commit(&batch).unwrap();
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, 0, nth * 86_400 + 7);
        desk.store.commit(&batch).unwrap();
        if nth % 2 == 0 {
            let mut batch = desk.batch();
            desk.end(&mut batch, &mut run, 0, nth * 86_400 + 9);
            batch.run_moves.push(RunMove {
                run: run.row.id,
                from: RunState::Running,
                to: RunState::Failed,
                finished_at: Some(at(nth * 86_400 + 9)),
                cancel_requested: false,
            });
            desk.store.commit(&batch).unwrap();
        }
    }
    for nth in 0..4 {
        let ids = desk.store.next_ids().unwrap();
        let mut batch = desk.batch();
        batch.created.push(new_run(&other, desk.lease, ids, nth * 60));
        desk.store.commit(&batch).unwrap();
    }
}

type Change = Box<dyn Fn(&mut HistoryAsk)>;

/// What may be asked besides the level, with how many runs, task runs and attempts that leaves.
fn asks() -> Vec<(Change, [usize; 3])> {
    let at = |nth: i64| -> Option<Instant> { Some(at(nth * 86_400)) };
    vec![
        (Box::new(|_| {}), [12, 28, 8]),
        (Box::new(|ask| ask.limit = Some(3)), [3, 3, 3]),
        (Box::new(|ask| ask.limit = Some(0)), [0, 0, 0]),
        (Box::new(|ask| ask.dag = Some("flights".into())), [8, 24, 8]),
        (Box::new(|ask| ask.dag = Some("other".into())), [4, 4, 0]),
        (Box::new(|ask| ask.dag = Some("none".into())), [0, 0, 0]),
        (Box::new(|ask| ask.triggers = vec![Trigger::Schedule.as_str()]), [1, 3, 1]),
        // A third of a month, a few days, one day, none.
        (Box::new(|ask| ask.biz_date_from = day("2024-01-15")), [7, 21, 7]),
        (Box::new(|ask| ask.biz_date_to = day("2024-01-14")), [5, 7, 1]),
        (
            Box::new(|ask| {
                (ask.biz_date_from, ask.biz_date_to) = (day("2024-01-16"), day("2024-01-17"));
            }),
            [2, 6, 2],
        ),
        (Box::new(|ask| ask.biz_date_from = day("2024-02-01")), [0, 0, 0]),
        // By when they were made, or began.
        (Box::new(move |ask| ask.from = at(6)), [2, 6, 2]),
        (Box::new(move |ask| (ask.from, ask.to) = (at(2), at(4))), [2, 6, 2]),
        (
            Box::new(|ask| {
                ask.limit = Some(2);
                (ask.dag, ask.biz_date_from) = (Some("flights".into()), day("2024-01-20"));
            }),
            [2, 2, 2],
        ),
    ]
}

#[test]
fn a_server_tells_the_history_as_a_file_does() {
    let mut server = open();
    fill(&mut server);
    let mut file = crate::store::support::file::open(":memory:");
    fill(&mut file);
    for (nth, (change, counts)) in asks().into_iter().enumerate() {
        for (level, rows) in [Level::Run, Level::TaskRun, Level::Attempt].into_iter().zip(counts) {
            let mut ask = ask(level);
            change(&mut ask);
            let of_server = told(&mut server, &ask);
            assert_eq!(of_server.rows, rows, "{nth} {level:?}");
            assert_eq!(of_server, told(&mut file, &ask), "{nth} {level:?}");
        }
    }
    for (level, word, rows) in [
        (Level::Run, "FAILED", 4),
        (Level::Run, "RUNNING", 8),
        (Level::TaskRun, "SUCCESS", 4),
        (Level::TaskRun, "PENDING", 20),
        (Level::Attempt, "RUNNING", 4),
        (Level::Attempt, "SUCCESS", 4),
    ] {
        let known = level.words();
        let words = known.into_iter().filter(|each| *each == word).collect();
        let ask = HistoryAsk { words, ..ask(level) };
        let of_server = told(&mut server, &ask);
        assert_eq!(of_server.rows, rows, "{level:?} {word}");
        assert_eq!(of_server, told(&mut file, &ask), "{level:?} {word}");
    }
    let tasks = vec!["clean".to_owned(), "only".to_owned()];
    let ask = HistoryAsk { tasks, ..ask(Level::TaskRun) };
    let of_server = told(&mut server, &ask);
    assert_eq!(of_server.rows, 8 + 4);
    assert_eq!(of_server, told(&mut file, &ask));
}

#[test]
fn a_small_part_is_found_by_its_ids_some_at_a_time() {
    let mut store = open();
    let lease = store.join(&crate::store::support::node(1)).unwrap();
    let names: Vec<String> = (0..700).map(|nth| format!("t{nth}")).collect();
    let wide = dag("wide", names.iter().map(|name| task(name, &[])).collect());
    let wide = store.register(&[wide], at(0)).unwrap().remove(0);
    for nth in 0..8i32 {
        let ids = store.next_ids().unwrap();
        let mut run = new_run(&wide, lease, ids, nth.into());
        run.row.biz_date = Date(run.row.biz_date.0 + nth);
        let mut batch = mainspring::store::Batch::new(lease, at(0));
        batch.created.push(run);
        store.commit(&batch).unwrap();
    }
    let columns = Level::TaskRun.choose(&["task_run_id".to_owned()]).unwrap();
    let mut asked = HistoryAsk { columns, ..ask(Level::TaskRun) };
    // The runs of two days of eight have 1,400 task runs.
    (asked.biz_date_from, asked.biz_date_to) = (day("2024-01-16"), day("2024-01-17"));
    let wanted = (2 * 700 + 1..=4 * 700).rev().map(|id| format!("Integer({id})"));
    assert_eq!(told(&mut store, &asked).cells, wanted.collect::<Vec<_>>());
}
