//! What holds of a history is found to hold, and each thing that can be broken is found broken.

use mainspring::engine::RunMove;
use mainspring::model::{RunState, Skip, SkipReason};
use mainspring::store::{MemoryStore, NewSkip, Store, Watermark};

use super::support::{Desk, at, flights, new_run, schedule};

/// One finished run, one run with a live attempt and a pool, one that has not begun.
fn history(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    desk.store.set_pool("db", 2, at(0)).unwrap();
    let mut run = desk.create(0);
    for index in 0..3 {
        let when = 10 * index as i64 + 5;
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, index, when);
        desk.store.commit(&batch).unwrap();
        let mut batch = desk.batch();
        desk.end(&mut batch, &mut run, index, when + 4);
        if index == 2 {
            batch.run_moves.push(RunMove {
                run: run.row.id,
                from: RunState::Running,
                to: RunState::Success,
                finished_at: Some(at(when + 4)),
                cancel_requested: false,
            });
        }
        desk.store.commit(&batch).unwrap();
    }
    let mut live = desk.create(60);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut live, 0, 65);
    batch.starts[0].pool = Some("db".into());
    desk.store.commit(&batch).unwrap();
    desk.create(120);
    fires(&mut desk);
}

/// A schedule in its second period that fired once, and skipped twice.
fn fires(desk: &mut Desk<'_>) {
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *")];
    desk.dag = desk.store.register(std::slice::from_ref(&def), at(0)).unwrap().remove(0);
    let id = desk.dag.schedules[0].0;
    def.schedules[0].rule.expression = "0 3 * * *".into();
    desk.store.register(&[def], at(10)).unwrap();
    let ids = desk.store.next_ids().unwrap();
    let mut run = new_run(&desk.dag, desk.lease, ids, 30);
    run.row.timed = true;
    run.row.schedule_id = Some(id);
    run.schedules = vec![id];
    let mut batch = desk.batch();
    batch.created.push(run);
    for (from, to, reason) in [(10, 20, SkipReason::Missed), (40, 40, SkipReason::Overlap)] {
        let skip = Skip { schedule: id, from: at(from), to: at(to), count: 1, reason };
        batch.skips.push(NewSkip { skip, joins: false });
    }
    batch.watermarks.push(Watermark { schedule: id, from: at(0), to: at(40), changed_at: at(10) });
    desk.store.commit(&batch).unwrap();
}

#[test]
fn a_right_history_has_no_violation_in_memory() {
    let mut store = MemoryStore::new();
    history(&mut store);
    assert_eq!(store.verify().unwrap(), []);
}

/// A task that starts before its upstream has ended is found in memory as well.
#[test]
fn a_start_too_early_is_found_in_memory() {
    let mut store = MemoryStore::new();
    let mut desk = Desk::open(&mut store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 1, 5);
    desk.store.commit(&batch).unwrap();
    let found = store.verify().unwrap();
    assert_eq!(found.iter().map(|found| found.invariant).collect::<Vec<_>>(), ["D1"]);
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use mainspring::store::Store;

    use super::history;
    use crate::store::support::file::{Folder, open};

    /// Breaks a right history, and says what is then found.
    fn planted(harm: &str) -> Vec<&'static str> {
        let mut store = open(":memory:");
        history(&mut store);
        assert_eq!(store.verify().unwrap(), []);
        store.connection().execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
        store.connection().execute_batch(harm).unwrap();
        let found = store.verify().unwrap();
        assert!(found.iter().all(|found| !found.rows.is_empty() && !found.rule.is_empty()));
        found.iter().map(|found| found.invariant).collect()
    }

    #[test]
    fn each_thing_that_is_broken_is_found() {
        let copy_attempt = "DROP INDEX attempt_number;
            INSERT INTO attempt (task_run_id, attempt_no, token, nominal_at, task_version_id,
                node_id, started_at, finished_at, outcome)
            SELECT task_run_id, attempt_no, token + 1, nominal_at, task_version_id, node_id,
                finished_at, finished_at, outcome
            FROM attempt WHERE task_run_id = 1;
            UPDATE task_run SET token = token + 1 WHERE id = 1";
        let second_attempt = |number: u32, token: i64, from: &str, to: &str| {
            format!(
                "INSERT INTO attempt (task_run_id, attempt_no, token, nominal_at,
                    task_version_id, node_id, started_at, finished_at, outcome)
                SELECT task_run_id, {number}, token + {token}, nominal_at, task_version_id,
                    node_id, {from}, {to}, outcome
                FROM attempt WHERE task_run_id = 1;
                UPDATE task_run SET attempt_no = 2, token = token + {token} WHERE id = 1"
            )
        };
        let cases: &[(&str, &[&str])] = &[
            ("DROP INDEX run_timed; UPDATE run SET timed = 1, nominal_at = 5", &["U1"]),
            (
                "DROP INDEX task_run_place;
                UPDATE task_run SET task_id = 1, task_version_id = 1 WHERE id = 9",
                &["U1"],
            ),
            ("UPDATE task_run SET revision = revision + 1 WHERE id = 1", &["L3"]),
            ("DELETE FROM journal WHERE id = 1", &["L3"]),
            ("DELETE FROM journal WHERE id = 2", &["D1", "L3"]),
            ("UPDATE journal SET entries = x'02' WHERE id = 1", &["L3"]),
            ("UPDATE task_run SET finished_at = NULL WHERE id = 1", &["L2"]),
            ("UPDATE run SET finished_at = NULL WHERE id = 1", &["L2"]),
            ("UPDATE task_run SET started_at = finished_at + 1 WHERE id = 1", &["L4"]),
            ("UPDATE attempt SET started_at = finished_at + 1 WHERE id = 1", &["L4"]),
            (&second_attempt(2, 1, "started_at", "finished_at"), &["L4"]),
            (&second_attempt(2, -1, "finished_at", "finished_at"), &["F3"]),
            (&second_attempt(3, 1, "finished_at", "finished_at"), &["R1"]),
            (copy_attempt, &["L5"]),
            ("UPDATE attempt SET outcome = NULL WHERE id = 1", &["L5", "V2"]),
            ("UPDATE task_run SET errors_used = 2 WHERE id = 1", &["R1"]),
            ("UPDATE attempt SET token = token + 5 WHERE id = 1", &["F3"]),
            ("DELETE FROM attempt_lease", &["V2"]),
            (
                "INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, slots)
                VALUES (2, 9, 1, 1, 1)",
                &["V2"],
            ),
            ("UPDATE run SET state = 'FAILED', finished_at = 9e15 WHERE id = 2", &["S1"]),
            ("UPDATE run SET state = 'FAILED' WHERE id = 1", &["S1"]),
            ("UPDATE run SET task_count = 4 WHERE id = 3", &["S2"]),
            ("DELETE FROM attempt_lease; DELETE FROM attempt WHERE id = 4", &["R1", "V2"]),
            ("DELETE FROM run WHERE id = 3", &["S2"]),
            ("DELETE FROM task_version WHERE id = 3", &["S2"]),
            ("UPDATE task SET registered_version_id = 2 WHERE id = 1", &["S3"]),
            (
                "INSERT INTO task_release (task_id, kind, version_id, created_at)
                VALUES (1, 'pin', 2, 5)",
                &["S3"],
            ),
            (
                "INSERT INTO task_release (task_id, kind, version_id, base_version_id, percent,
                    created_at)
                VALUES (1, 'percent', 2, 1, 5, 5)",
                &["S3"],
            ),
            (
                "DROP INDEX task_release_open;
                INSERT INTO task_release (task_id, kind, version_id, created_at)
                VALUES (1, 'pin', 1, 5), (1, 'pin', 1, 5)",
                &["S3"],
            ),
            ("UPDATE schedule SET watermark_at = created_at - 1", &["U3"]),
            ("UPDATE schedule SET watermark_at = NULL", &["U3"]),
            ("DELETE FROM schedule_period", &["U3"]),
            ("DELETE FROM schedule_period WHERE until_at IS NULL", &["U3"]),
            ("UPDATE schedule_period SET until_at = NULL", &["U3"]),
            ("UPDATE schedule_period SET until_at = from_at + 1e12", &["U3"]),
            ("UPDATE schedule_period SET until_at = until_at - 1 WHERE id = 1", &["U3"]),
            ("UPDATE schedule_period SET from_at = until_at + 5 WHERE id = 1", &["U3"]),
            ("UPDATE skip SET to_at = to_at + 30000000 WHERE id = 1", &["U2"]),
            ("UPDATE skip SET from_at = from_at - 20000000 WHERE id = 2", &["U2"]),
            ("UPDATE skip SET to_at = to_at + 10000000 WHERE id = 1", &["U2"]),
            ("UPDATE run SET nominal_at = nominal_at + 10000000 WHERE id = 4", &["U2"]),
            ("UPDATE skip SET to_at = from_at - 1 WHERE id = 1", &["U2"]),
            ("DELETE FROM run WHERE id = 4; DELETE FROM task_run WHERE run_id = 4", &["S2"]),
            ("UPDATE run_schedule SET schedule_id = 9", &["S2"]),
            ("UPDATE skip SET schedule_id = 9 WHERE id = 2", &["S2"]),
            (
                "INSERT INTO schedule_period SELECT 9, 9, from_at, until_at, kind, rule
                FROM schedule_period WHERE id = 1",
                &["S2"],
            ),
        ];
        for (harm, expected) in cases {
            let mut found = planted(harm);
            found.sort_unstable();
            for invariant in *expected {
                assert!(found.contains(invariant), "{harm}\nfound {found:?}");
            }
        }
    }

    /// The journal tells which arrows were taken, whatever the rows say.
    #[test]
    fn a_forbidden_arrow_is_found() {
        use mainspring::model::journal::{Entry, pack};
        use mainspring::model::{State, TaskRunId};

        use crate::store::support::at;

        let cases = [(State::Pending, State::Success, "L1"), (State::Success, State::Failed, "L2")];
        for (from, to, invariant) in cases {
            let mut store = open(":memory:");
            history(&mut store);
            let entry = Entry::Moved {
                task_run: TaskRunId(7),
                from,
                to,
                attempt_no: 0,
                when: at(130),
                code: None,
            };
            let packed = pack(TaskRunId(7), &[entry]);
            store
                .connection()
                .execute("INSERT INTO journal (run_id, entries) VALUES (3, ?1)", [packed])
                .unwrap();
            let found = store.verify().unwrap();
            assert!(found.iter().any(|found| found.invariant == invariant), "{found:?}");
        }
    }

    #[test]
    fn a_limit_that_is_overfull_is_found() {
        let full = "INSERT INTO limits (name, kind, value, created_at, updated_at)
                VALUES ('api', 'slots', 2, 0, 0);
            UPDATE attempt_lease SET limits = '{\"api\": 2}';
            INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, slots, limits)
            VALUES (3, 1, 1, 1, 1, '{\"api\": 1}')";
        assert!(planted(full).contains(&"O3"));
        // A limit may be made smaller under what runs.
        let shrunk = format!("{full}; UPDATE limits SET value = 1, updated_at = 9e15");
        assert!(!planted(&shrunk).contains(&"O3"));
        let fits = format!("{full}; UPDATE limits SET value = 3");
        assert!(!planted(&fits).contains(&"O3"));
    }

    #[test]
    fn a_pool_that_is_overfull_is_found() {
        let wide = "UPDATE attempt_lease SET slots = 2;
            INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, pool, slots)
            VALUES (3, 1, 1, 1, 'db', 1)";
        assert!(planted(wide).contains(&"O2"));
        // Alone it may be as wide as it likes, and a pool may be made smaller under it.
        assert!(!planted("UPDATE attempt_lease SET slots = 9").contains(&"O2"));
        let shrunk = format!("{wide}; UPDATE pool SET slots = 1, updated_at = 9e15");
        assert!(!planted(&shrunk).contains(&"O2"));
    }

    #[test]
    fn a_damaged_index_is_found() {
        let folder = Folder::new();
        let path = folder.file("store.db");
        let mut store = open(&path);
        history(&mut store);
        // The index loses its rows while the table keeps them.
        store
            .connection()
            .execute_batch(
                "PRAGMA writable_schema = ON;
                UPDATE sqlite_schema
                SET sql = 'CREATE INDEX run_biz_date ON run (biz_date, id)'
                WHERE name = 'run_biz_date';
                PRAGMA writable_schema = RESET;",
            )
            .unwrap();
        drop(store);
        let found = open(&path).verify();
        let found = found.map(|found| found.iter().any(|found| found.invariant == "B1"));
        assert!(matches!(found, Ok(true) | Err(_)), "{found:?}");
    }
}
