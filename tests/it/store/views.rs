//! The views of the warehouse tables, over a history made by hand.

use mainspring::model::{
    Binding, BizOffset, EdgeKind, Outcome, Progress, State, TaskRunId, TaskRunRow, Trigger,
};
use mainspring::store::{SqliteStore, Store};
use rusqlite::types::Value;

use super::support::file::open;
use super::support::{Desk, at, dag, edge, ended, schedule, task};

fn column(store: &SqliteStore, question: &str) -> Vec<String> {
    let mut select = store.connection().prepare(question).unwrap();
    let rows = select.query_map([], |row| {
        Ok(match row.get::<_, Value>(0)? {
            Value::Null => "-".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text,
            Value::Blob(_) => "blob".into(),
        })
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn columns(store: &SqliteStore, view: &str) -> String {
    let select = store.connection().prepare(&format!("SELECT * FROM {view}")).unwrap();
    select.column_names().collect::<Vec<_>>().join(" ")
}

#[test]
fn columns_are_named_as_in_the_texts() {
    let store = open(":memory:");
    let views = [
        (
            "v_task_definition",
            "id name cron_expr timezone executor_type executor_config timeout_sec retry_times \
             retry_interval status created_at updated_at",
        ),
        (
            "v_task_instance",
            "id task_def_id scheduled_time actual_time status node_id trigger_type retry_count \
             created_at",
        ),
        (
            "v_execution_history",
            "id instance_id exit_code stdout_log stderr_log cpu_usage mem_mb duration_ms \
             recorded_at",
        ),
        (
            "v_task_dependency",
            "id upstream_def_id downstream_def_id dependency_type output_match created_at",
        ),
        (
            "v_task",
            "task_id task_name task_type task_config owner priority retry_times retry_interval \
             timeout status create_time update_time",
        ),
        ("v_dependency", "dep_id task_id parent_task_id dep_type offset_day create_time"),
        (
            "v_schedule",
            "schedule_id task_id cron_expr timezone start_date end_date status create_time",
        ),
        (
            "v_execution",
            "exec_id task_id schedule_id biz_date status start_time end_time duration_ms attempt \
             trigger_type log_path error_msg create_time",
        ),
    ];
    for (view, expected) in views {
        assert_eq!(columns(&store, view), expected, "{view}");
    }
    let tasks = columns(&store, "v_tasks");
    for name in "task_id schedule_id creator create_time modifier modified_time resid resid_ukey \
                 sub_subject sub_to task_type task_category inherite_category task_labels \
                 priority enabled run_after_time run_on_datetime last_update_time \
                 last_task_run_id last_schedule_run_id running_state running_cluster_node \
                 running_heartbeat_time options task_ext_option1 task_ext_option2 last_duration"
        .split_whitespace()
    {
        assert!(tasks.split(' ').any(|found| found == name), "{name}");
    }
    assert!(columns(&store, "v_runs").starts_with("run_id dag task_run_id"));
}

#[test]
fn definitions_have_their_units() {
    let mut store = open(":memory:");
    let mut load = task("load", &[]);
    load.owner = Some("ann".into());
    load.policy.timeout_ms = Some(90_000);
    load.policy.max_attempts = Some(3);
    load.policy.priority = 2;
    let mut report = task("report", &[]);
    report.dependencies = vec![
        edge("air.load", EdgeKind::Completed, 0),
        edge("air.load", EdgeKind::Weak, -1),
        edge("air.report", EdgeKind::Success, -7),
    ];
    report.policy.idempotent = false;
    let mut def = dag("air", vec![load, report]);
    def.schedules = vec![schedule("default", "0 2 * * *")];
    def.schedules[0].paused = true;
    store.register(&[def], at(0)).unwrap();
    let all = |question: &str| column(&store, question);
    assert_eq!(all("SELECT name FROM v_task_definition ORDER BY id"), ["air.load", "air.report"]);
    assert_eq!(all("SELECT timeout_sec FROM v_task_definition ORDER BY id"), ["90", "0"]);
    assert_eq!(all("SELECT retry_times FROM v_task_definition ORDER BY id"), ["2", "0"]);
    assert_eq!(all("SELECT retry_interval FROM v_task_definition ORDER BY id"), ["10", "10"]);
    assert_eq!(all("SELECT cron_expr FROM v_task_definition LIMIT 1"), ["0 2 * * *"]);
    assert_eq!(all("SELECT timezone FROM v_task_definition LIMIT 1"), ["Asia/Shanghai"]);
    assert_eq!(all("SELECT created_at FROM v_task_definition LIMIT 1"), ["2024-01-15 02:00:00"]);
    assert_eq!(all("SELECT dependency_type FROM v_task_dependency ORDER BY id"), ["1", "4", "0"]);
    assert_eq!(all("SELECT priority FROM v_task ORDER BY task_id"), ["8", "5"]);
    assert_eq!(all("SELECT owner FROM v_task ORDER BY task_id"), ["ann", "-"]);
    assert_eq!(
        all("SELECT dep_type FROM v_dependency ORDER BY dep_id"),
        ["strong", "weak", "strong"]
    );
    assert_eq!(all("SELECT offset_day FROM v_dependency ORDER BY dep_id"), ["0", "-1", "-7"]);
    assert_eq!(all("SELECT status FROM v_schedule ORDER BY task_id"), ["0", "0"]);
    assert_eq!(all("SELECT start_date FROM v_schedule LIMIT 1"), ["2024-01-01"]);
}

/// A task with schedules of its own does not follow those of its dag.
#[test]
fn schedules_of_a_dag_are_those_of_its_tasks_without_own_ones() {
    let mut store = open(":memory:");
    let mut def = dag("air", vec![task("load", &[]), task("report", &[])]);
    let mut own = schedule("own", "0 5 * * *");
    let bound = |size: i64| Binding {
        task: Some("report".into()),
        params: [("size".to_owned(), size.into())].into(),
    };
    own.bindings = vec![bound(1), bound(2)];
    def.schedules = vec![schedule("default", "0 2 * * *"), own];
    store.register(std::slice::from_ref(&def), at(0)).unwrap();
    let names = "SELECT cron_expr FROM v_task_definition ORDER BY id";
    let pairs = "SELECT task_id || ' ' || cron_expr FROM v_schedule ORDER BY task_id";
    assert_eq!(column(&store, names), ["0 2 * * *", "0 5 * * *"]);
    assert_eq!(column(&store, pairs), ["1 0 2 * * *", "2 0 5 * * *"]);
    def.schedules.pop();
    store.register(std::slice::from_ref(&def), at(1)).unwrap();
    assert_eq!(column(&store, names), ["0 2 * * *", "0 2 * * *"]);
    assert_eq!(column(&store, pairs), ["1 0 2 * * *", "2 0 2 * * *"]);
    // What is no number of days is told in words.
    def.schedules[0].biz_offset = Some(BizOffset::Workdays(-1));
    store.register(std::slice::from_ref(&def), at(2)).unwrap();
    let told = "SELECT biz_rule || ', ' || coalesce(biz_offset, 'no days') || ', ' || missed
        FROM schedule WHERE removed_at IS NULL";
    assert_eq!(column(&store, told), ["-1 workday, no days, all"]);
}

#[test]
fn states_and_triggers_have_their_codes() {
    let mut store = open(":memory:");
    let mut desk = Desk::open(&mut store);
    desk.create(0);
    let conn = store.connection();
    for state in State::ALL {
        let finished = if state.is_final() { "5" } else { "NULL" };
        conn.execute_batch(&format!(
            "UPDATE task_run SET state = '{state}', finished_at = {finished} WHERE id = 1"
        ))
        .unwrap();
        let code = match state {
            State::Ready | State::Blocked | State::RetryWait => State::Pending.code(),
            other => other.code(),
        };
        let word = if code == 0 { "PENDING" } else { state.as_str() };
        let shown = |question: &str| column(&store, question);
        assert_eq!(
            shown("SELECT status FROM v_task_instance WHERE id = 1"),
            [code.to_string()],
            "{state}"
        );
        assert_eq!(shown("SELECT status FROM v_execution WHERE exec_id = 1"), [word], "{state}");
        let question = "SELECT running_state FROM v_tasks WHERE last_task_run_id = 1";
        assert_eq!(shown(question), [code.to_string()], "{state}");
        let question = "SELECT state || state_code FROM v_runs WHERE task_run_id = 1";
        assert_eq!(shown(question), [format!("{state}{code}")], "{state}");
    }
    let codes = [0, 1, 2, 3, 4, 5, 6, 7];
    for (trigger, code) in Trigger::ALL.iter().zip(codes) {
        conn.execute_batch(&format!("UPDATE run SET \"trigger\" = '{trigger}'")).unwrap();
        let shown = column(&store, "SELECT trigger_type FROM v_task_instance LIMIT 1");
        assert_eq!(shown, [code.to_string()], "{trigger}");
        let shown = column(&store, "SELECT trigger_type FROM v_execution LIMIT 1");
        assert_eq!(shown, [trigger.as_str()]);
    }
}

#[test]
fn attempts_are_counted_from_the_last_rerun() {
    let mut store = open(":memory:");
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let id = run.task_runs[0].id;
    for (number, when) in [(1u32, 5), (2, 15), (3, 25)] {
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, 0, when);
        desk.store.commit(&batch).unwrap();
        let token = run.task_runs[0].progress.token;
        let mut batch = desk.batch();
        let mut end = ended(id, number, token, Outcome::Failed, when + 4);
        end.end.record.exit_code = Some(1);
        end.end.record.max_rss_kb = Some(4_096);
        end.end.record.error = Some("no such file".into());
        batch.ends.push(end);
        desk.store.commit(&batch).unwrap();
    }
    let all = |question: &str| column(&store, question);
    assert_eq!(all("SELECT retry_count FROM v_task_instance ORDER BY id"), ["2", "0", "0"]);
    assert_eq!(all("SELECT attempt FROM v_execution ORDER BY exec_id"), ["2", "0", "0"]);
    assert_eq!(all("SELECT actual_time FROM v_task_instance LIMIT 1"), ["2024-01-15 02:00:05"]);
    assert_eq!(all("SELECT start_time FROM v_execution LIMIT 1"), ["2024-01-15 02:00:25"]);
    assert_eq!(all("SELECT node_id FROM v_task_instance LIMIT 1"), ["here:1"]);
    assert_eq!(all("SELECT biz_date FROM v_execution LIMIT 1"), ["2024-01-14"]);
    assert_eq!(all("SELECT count(*) FROM v_execution_history"), ["3"]);
    assert_eq!(all("SELECT cpu_usage FROM v_execution_history LIMIT 1"), ["25"]);
    assert_eq!(all("SELECT mem_mb FROM v_execution_history LIMIT 1"), ["4"]);
    assert_eq!(all("SELECT stderr_log FROM v_execution_history LIMIT 1"), ["no such file"]);
    assert_eq!(all("SELECT error_msg FROM v_execution LIMIT 1"), ["no such file"]);
    store.connection().execute_batch("UPDATE task_run SET rerun_base = 2 WHERE id = 1").unwrap();
    assert_eq!(column(&store, "SELECT retry_count FROM v_task_instance LIMIT 1"), ["0"]);
    assert_eq!(column(&store, "SELECT last_duration FROM v_tasks LIMIT 1"), ["1000"]);
}

/// Of a mapped task the whole is what its row is; an item is a line of its own in `v_runs`.
#[test]
fn an_item_does_not_stand_for_its_task() {
    let mut store = open(":memory:");
    let mut desk = Desk::open(&mut store);
    let run = desk.create(0);
    let ids = desk.store.next_ids().unwrap();
    let mut batch = desk.batch();
    batch.expected = Some(ids);
    batch.items = vec![TaskRunRow {
        id: TaskRunId(ids.task_run),
        map_index: 1,
        progress: Progress { item: Some("\"a\"".into()), ..Progress::default() },
        ..run.task_runs[1].clone()
    }];
    desk.store.commit(&batch).unwrap();
    let whole = run.task_runs[1].id.to_string();
    let question = "SELECT last_task_run_id FROM v_tasks WHERE task_id = 'flights.clean'";
    assert_eq!(column(&store, question), [whole]);
    let question = "SELECT map_index FROM v_runs WHERE task = 'flights.clean' ORDER BY task_run_id";
    assert_eq!(column(&store, question), ["-", "1"]);
}
