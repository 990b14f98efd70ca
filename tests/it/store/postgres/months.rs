//! History lies in months, and the questions that are asked most read only theirs.

use mainspring::store::{Batch, Store as _};

use crate::postgres::{fresh, reopen, server};
use crate::store::support::{Desk, at, new_run};

const DAY: i64 = 86_400;

/// The tables of months, with the numbers of their rows.
fn months(schema: &str, table: &str) -> Vec<(String, i64)> {
    let names = server().psql(
        "test",
        &format!(
            "SELECT relid::text FROM pg_partition_tree('{schema}.{table}') WHERE isleaf ORDER BY 1"
        ),
    );
    let count = |name: &str| {
        let count = server().psql("test", &format!("SELECT count(*) FROM {name}"));
        (name.trim_start_matches(&format!("{schema}.")).to_owned(), count.parse().unwrap())
    };
    names.lines().map(count).collect()
}

#[test]
fn months_are_made_ahead_and_old_runs_lie_in_the_rest() {
    let schema = fresh();
    let mut store = reopen(&server().url(&schema));
    let mut desk = Desk::open(&mut store);
    // 2024-01-15, two weeks before, three months before, and five months later.
    for nominal in [0, -15 * DAY, -90 * DAY, 150 * DAY] {
        let mut run = desk.create(nominal);
        if nominal > 0 {
            continue;
        }
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, 0, 5);
        desk.store.commit(&batch).unwrap();
        let mut batch = desk.batch();
        desk.end(&mut batch, &mut run, 0, 6);
        desk.store.commit(&batch).unwrap();
    }
    let name = |month: &str, rows| (format!("task_run_{month}"), rows);
    let wanted = [
        name("2023_12", 3),
        name("2024_01", 3),
        name("2024_02", 0),
        name("2024_03", 0),
        name("rest", 6),
    ];
    assert_eq!(months(&schema, "task_run"), wanted);
    let counts: Vec<i64> = months(&schema, "attempt").into_iter().map(|(_, n)| n).collect();
    assert_eq!(counts, [1, 1, 0, 0, 1]);
    // Weeks later the next one is made; one whose rows lie in the rest already is left there.
    let lease = desk.lease;
    for later in [20 * DAY, 140 * DAY] {
        let ids = desk.store.next_ids().unwrap();
        let mut batch = Batch::new(lease, at(later));
        batch.created.push(new_run(&desk.dag, lease, ids, later));
        desk.store.commit(&batch).unwrap();
    }
    let made: Vec<String> = months(&schema, "task_run").into_iter().map(|(name, _)| name).collect();
    let wanted = [
        "2023_12", "2024_01", "2024_02", "2024_03", "2024_04", "2024_05", "2024_07", "2024_08",
        "rest",
    ];
    assert_eq!(made, wanted.map(|month| format!("task_run_{month}")));
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_month_that_was_detached_takes_its_rows_with_it() {
    let schema = fresh();
    let mut store = reopen(&server().url(&schema));
    let mut desk = Desk::open(&mut store);
    let (old, new) = (desk.create(-20 * DAY), desk.create(0));
    for table in ["task_run", "attempt"] {
        let text =
            format!("ALTER TABLE {schema}.{table} DETACH PARTITION {schema}.{table}_2023_12");
        server().psql("test", &text);
    }
    assert_eq!(store.task_runs(old.row.id).unwrap().len(), 0);
    assert_eq!(store.task_runs(new.row.id).unwrap().len(), 3);
}

/// The partitions that a plan reads.
fn read(schema: &str, text: &str) -> Vec<String> {
    let plan = server().psql(
        "test",
        &format!("SET search_path = {schema}; SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF) {text}"),
    );
    let mut found: Vec<String> = plan
        .lines()
        .filter(|line| line.contains("Scan") && !line.contains("never executed"))
        .filter_map(|line| line.split(" on ").nth(1))
        .filter_map(|rest| rest.split(' ').next())
        .map(str::to_owned)
        .filter(|name| name.starts_with("task_run_") && name.matches('_').count() <= 3)
        .collect();
    found.sort();
    found.dedup();
    assert!(plan.contains("Index") || plan.contains("Bitmap"), "{plan}");
    found
}

#[test]
fn common_questions_read_only_their_months() {
    let schema = fresh();
    let mut store = reopen(&server().url(&schema));
    let desk = Desk::open(&mut store);
    for day in -31..40 {
        let mut batch = Batch::new(desk.lease, at(0));
        let ids = desk.store.next_ids().unwrap();
        batch.created.push(new_run(&desk.dag, desk.lease, ids, day * DAY));
        desk.store.commit(&batch).unwrap();
    }
    server().psql("test", &format!("SET search_path = {schema}; ANALYZE task_run"));
    let micros = |seconds: i64| at(seconds).0;
    // What of today failed; a task over a month; a business date over all tasks, which adds the
    // days in which its runs can lie.
    let today = format!("nominal_at >= {} AND nominal_at < {}", micros(0), micros(DAY));
    for (text, wanted) in [
        (format!("SELECT * FROM task_run WHERE {today} AND task_id = 1"), vec!["task_run_2024_01"]),
        (
            format!(
                "SELECT * FROM task_run WHERE task_id = 2 AND nominal_at >= {} AND nominal_at < {}",
                micros(-31 * DAY),
                micros(-17 * DAY)
            ),
            vec!["task_run_2023_12"],
        ),
        (
            format!(
                "SELECT * FROM task_run WHERE biz_date = '2024-01-14' AND nominal_at >= {} AND \
                 nominal_at < {}",
                micros(-3 * DAY),
                micros(4 * DAY)
            ),
            vec!["task_run_2024_01"],
        ),
        // What belongs to one run: its instant is in its row.
        (
            "SELECT * FROM task_run WHERE run_id = 3 AND nominal_at = (SELECT nominal_at FROM run \
             WHERE id = 3)"
                .to_owned(),
            vec!["task_run_2023_12"],
        ),
    ] {
        assert_eq!(read(&schema, &text), wanted, "{text}");
    }
}
