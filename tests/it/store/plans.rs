//! Which index serves the common questions, and that the words in the schema are the enums'.

use mainspring::model::{Outcome, RunState, State, StopReason, Trigger};
use mainspring::store::SqliteStore;

use super::support::file::open;

fn plan(store: &SqliteStore, question: &str) -> String {
    let mut explain =
        store.connection().prepare(&format!("EXPLAIN QUERY PLAN {question}")).unwrap();
    let nulls = vec![rusqlite::types::Null; explain.parameter_count()];
    let lines = explain
        .query_map(rusqlite::params_from_iter(nulls), |row| row.get::<_, String>(3))
        .unwrap();
    lines.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
}

fn open_states() -> String {
    let open = State::ALL.iter().filter(|state| !state.is_final());
    open.map(|state| format!("'{state}'")).collect::<Vec<_>>().join(", ")
}

#[test]
fn common_questions_use_their_index() {
    let store = open(":memory:");
    let open = open_states();
    let questions = [
        ("SELECT * FROM run WHERE dag_id = 1 AND nominal_at = 2 AND timed = 1", "run_timed"),
        ("SELECT * FROM run WHERE biz_date >= '2024-01-01'", "run_biz_date"),
        ("SELECT * FROM run WHERE dag_id = 1 ORDER BY id DESC LIMIT 10", "run_dag"),
        ("SELECT * FROM run WHERE scope_id = 1 AND state IN ('RUNNING')", "run_open"),
        ("SELECT * FROM task_run WHERE run_id = 1 ORDER BY id", "task_run_place"),
        ("SELECT * FROM task_run WHERE task_id = 1 AND nominal_at > 2", "task_run_task_nominal"),
        ("SELECT * FROM task_run WHERE task_id = 1 AND biz_date > 'x'", "task_run_task_date"),
        ("SELECT * FROM task_run WHERE biz_date = 'x'", "task_run_date_task"),
        (
            &format!("SELECT * FROM task_run WHERE state = 'READY' AND state IN ({open})"),
            "task_run_open",
        ),
        ("SELECT * FROM attempt WHERE task_run_id = 1 AND attempt_no = 2", "attempt_number"),
        ("SELECT * FROM attempt WHERE finished_at < 5", "attempt_finished"),
        ("SELECT * FROM journal WHERE run_id = 1 ORDER BY id", "journal_run"),
        ("SELECT sum(slots) FROM attempt_lease WHERE pool = 'x'", "attempt_lease_pool"),
        ("SELECT * FROM dependency WHERE upstream_task_id = 1", "dependency_upstream"),
        ("SELECT * FROM task WHERE type = 'python'", "task_type"),
        ("SELECT * FROM task WHERE resource = 'x'", "task_resource"),
    ];
    for (question, index) in questions {
        let plan = plan(&store, question);
        assert!(plan.contains(&format!("INDEX {index} ")), "{question}\n{plan}");
        assert!(!plan.contains("TEMP B-TREE FOR ORDER BY") || index != "run_dag", "{plan}");
    }
}

#[test]
fn no_statement_of_the_store_reads_a_whole_history_table() {
    let store = open(":memory:");
    for file in std::fs::read_dir("src/store/sql/common").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if name.starts_with("verify_") || text.contains("{{") {
            continue;
        }
        let plan = plan(&store, &text);
        for table in ["run", "task_run", "attempt", "journal"] {
            let scans = plan.lines().any(|line| line.trim() == format!("SCAN {table}"));
            assert!(!scans, "{name} scans {table}\n{plan}");
        }
    }
}

#[test]
fn placeholders_appear_in_their_order() {
    for file in std::fs::read_dir("src/store/sql/common").unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut highest = 0;
        for rest in text.split('$').skip(1) {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let number: u32 = digits.parse().unwrap();
            assert!(number <= highest + 1, "{}: ${number}", path.display());
            highest = highest.max(number);
        }
    }
}

#[test]
fn the_words_of_the_schema_are_those_of_the_enums() {
    let store = open(":memory:");
    let table = |name: &str| -> String {
        let text = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        store.connection().query_row(text, [name], |row| row.get(0)).unwrap()
    };
    fn list<T: std::fmt::Display>(words: &[T]) -> String {
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
    }
    assert!(table("task_run").contains(&format!("state IN ({})", list(State::ALL))));
    assert!(table("run").contains(&format!("state IN ({})", list(RunState::ALL))));
    assert!(table("run").contains(&format!("\"trigger\" IN ({})", list(Trigger::ALL))));
    assert!(table("attempt").contains(&format!("outcome IN ({})", list(Outcome::ALL))));
    assert!(table("attempt_lease").contains(&format!("IN ({})", list(StopReason::ALL))));
    assert!(table("task_run_open").contains(&format!("state IN ({})", open_states())));
    let mut all = store.connection().prepare("SELECT sql FROM sqlite_schema").unwrap();
    let texts = all.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
    assert!(texts.flatten().flatten().all(|text| !text.contains("{{")));
}

/// The second line of defence: the database refuses what a bug would write.
#[test]
fn the_schema_refuses_what_cannot_be() {
    let store = open(":memory:");
    let insert = |state: &str, finished: &str| {
        store.connection().execute_batch(&format!(
            "INSERT INTO task_run (run_id, task_id, task_version_id, map_index, nominal_at, \
             biz_date, created_at, state, revision, finished_at, attempt_no, rerun_base, \
             errors_used, losses_used, preemptions_used, token, stale) VALUES (1, \
             (SELECT count(*) FROM task_run), 1, 0, 0, '2024-01-14', 0, '{state}', 0, {finished}, \
             0, 0, 0, 0, 0, 0, 0)"
        ))
    };
    insert("PENDING", "NULL").unwrap();
    insert("SUCCESS", "5").unwrap();
    assert!(insert("PENDING", "5").is_err());
    assert!(insert("SUCCESS", "NULL").is_err());
    assert!(insert("DONE", "5").is_err());
}
