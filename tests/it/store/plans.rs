//! Which index serves the common questions, and that the words in the schema are the enums'.

use mainspring::model::{Outcome, PeriodKind, ReleaseKind, RunState, State, StopReason, Trigger};
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

#[test]
fn common_questions_use_their_index() {
    let store = open(":memory:");
    let questions = [
        (
            "SELECT * FROM run WHERE dag_id = 1 AND coalesce(task_id, 0) = 0 AND nominal_at = 2 \
             AND timed = 1",
            "run_timed",
        ),
        ("SELECT * FROM skip WHERE schedule_id = 1 AND to_at > 2", "skip_end"),
        ("SELECT * FROM skip WHERE schedule_id = 1 AND to_at < 2 ORDER BY to_at DESC", "skip_end"),
        (
            "SELECT * FROM schedule_period WHERE schedule_id = 1 ORDER BY from_at",
            "schedule_period_begin",
        ),
        ("SELECT * FROM run WHERE biz_date >= '2024-01-01'", "run_biz_date"),
        ("SELECT * FROM run WHERE dag_id = 1 ORDER BY id DESC LIMIT 10", "run_dag"),
        ("SELECT * FROM run WHERE scope_id = 1 AND finished_at IS NULL", "run_open"),
        ("SELECT * FROM task_run WHERE run_id = 1 ORDER BY id", "task_run_place"),
        ("SELECT * FROM task_run WHERE task_id = 1 AND nominal_at > 2", "task_run_task_nominal"),
        ("SELECT * FROM task_run WHERE task_id = 1 AND biz_date > 'x'", "task_run_task_date"),
        ("SELECT * FROM task_run WHERE biz_date = 'x'", "task_run_date_task"),
        ("SELECT * FROM task_run WHERE state = 'READY' AND finished_at IS NULL", "task_run_open"),
        ("SELECT * FROM attempt WHERE task_run_id = 1 AND attempt_no = 2", "attempt_number"),
        ("SELECT * FROM attempt WHERE finished_at < 5", "attempt_finished"),
        ("SELECT * FROM journal WHERE run_id = 1 ORDER BY id", "journal_run"),
        ("SELECT sum(slots) FROM attempt_lease WHERE pool = 'x'", "attempt_lease_pool"),
        ("SELECT * FROM dependency WHERE upstream_task_id = 1", "dependency_upstream"),
        ("SELECT * FROM task WHERE type = 'python'", "task_type"),
        ("SELECT * FROM task_release WHERE task_id = 1 AND ended_at IS NULL", "task_release_open"),
        ("SELECT * FROM task_release WHERE task_id = 1 ORDER BY id", "task_release_task"),
        ("SELECT * FROM task WHERE resource = 'x'", "task_resource"),
    ];
    for (question, index) in questions {
        let plan = plan(&store, question);
        assert!(plan.contains(&format!("INDEX {index} ")), "{question}\n{plan}");
        assert!(!plan.contains("TEMP B-TREE FOR ORDER BY") || index != "run_dag", "{plan}");
    }
}

#[test]
fn the_history_is_read_by_what_is_asked_for_and_nothing_is_sorted() {
    let store = open(":memory:");
    let attempts = include_str!("../../../src/store/sql/common/history_attempts.sql");
    let narrow = include_str!("../../../src/store/sql/common/history_narrow_attempts.sql");
    let task_runs = include_str!("../../../src/store/sql/common/history_narrow_task_runs.sql");
    let runs = include_str!("../../../src/store/sql/common/history_runs.sql");
    let by_date = "run.biz_date >= $1 AND run.biz_date <= $2";
    let questions: &[(&str, &str, &[&str])] = &[
        (attempts, "1 = 1", &["SCAN attempt"]),
        (attempts, "attempt.id >= $1", &["SEARCH attempt USING INTEGER PRIMARY KEY (rowid>?)"]),
        (narrow, "run.dag_id IN (1)", &["run_dag", "task_run_place", "attempt_number"]),
        (narrow, by_date, &["run_biz_date", "task_run_place", "attempt_number"]),
        (
            narrow,
            "run.dag_id IN (1, 2) AND task_run.task_id IN (3, 4)",
            &["run_dag", "task_run_place (run_id=? AND task_id=?)", "attempt_number"],
        ),
        (task_runs, "run.dag_id IN (1)", &["run_dag", "task_run_place"]),
        (runs, "run.dag_id IN (1)", &["run_dag"]),
    ];
    for (text, conditions, wanted) in questions {
        let text = text
            .replace("{{columns}}", "run.timezone")
            .replace("{{conditions}}", conditions)
            .replace("{{limit}}", "-1");
        let plan = plan(&store, &text);
        for part in *wanted {
            assert!(plan.contains(part), "{conditions}: {part}\n{plan}");
        }
        assert!(!plan.contains("TEMP B-TREE"), "{conditions}\n{plan}");
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
        for table in ["run", "task_run", "attempt", "journal", "skip", "run_schedule"] {
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
    fn arms<T: std::fmt::Display>(words: &[T], value: impl Fn(&T) -> u8) -> String {
        let arm = |word: &T| format!("WHEN '{word}' THEN {}", value(word));
        words.iter().map(arm).collect::<Vec<_>>().join(" ")
    }
    let open = arms(State::ALL, |state| u8::from(!state.is_final()));
    assert!(table("task_run").contains(&open));
    let open = arms(RunState::ALL, |state| u8::from(*state == RunState::Running));
    assert!(table("run").contains(&open));
    assert!(table("run").contains(&arms(Trigger::ALL, |_| 1)));
    assert!(table("schedule_period").contains(&arms(PeriodKind::ALL, |_| 1)));
    assert!(table("task_release").contains(&arms(ReleaseKind::ALL, |_| 1)));
    assert!(table("attempt").contains(&arms(Outcome::ALL, |_| 1)));
    assert!(table("attempt_lease").contains(&arms(StopReason::ALL, |_| 1)));
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

/// A list of words after IN, in a CHECK or in the predicate of an index, is put into a table of
/// its own at every write: half of the price of the write.
#[test]
fn no_hot_statement_builds_a_table_of_words() {
    let store = open(":memory:");
    let hot = [
        "attempt_end",
        "attempt_insert",
        "journal_insert",
        "lease_drop",
        "lease_insert",
        "lease_stop",
        "run_insert",
        "run_move",
        "sequence_move",
        "task_run_insert",
        "task_run_progress",
    ];
    for name in hot {
        let text = std::fs::read_to_string(format!("src/store/sql/common/{name}.sql")).unwrap();
        let mut explain = store.connection().prepare(&format!("EXPLAIN {text}")).unwrap();
        let nulls = vec![rusqlite::types::Null; explain.parameter_count()];
        let steps = explain
            .query_map(rusqlite::params_from_iter(nulls), |row| row.get::<_, String>(1))
            .unwrap();
        assert!(steps.flatten().all(|step| step != "OpenEphemeral"), "{name}");
    }
}
