//! What a path may be, and what is said of it.

use std::time::Duration;

use mainspring::store::{SqlStore as _, SqlValue, SqliteOptions, SqliteStore, Store, StoreError};
use rusqlite::Connection;

use super::support::file::{Folder, open};
use super::support::{Desk, at, flights, node};

fn refused(path: impl AsRef<std::path::Path>, options: SqliteOptions) -> StoreError {
    match SqliteStore::open(path, options) {
        Err(error) => {
            assert!(error.to_string().contains("hint: "), "{error}");
            error
        }
        Ok(_) => panic!("it was opened"),
    }
}

const WRITE: SqliteOptions =
    SqliteOptions { busy_wait: Duration::from_secs(120), read_only: false, durable: true };
const READ: SqliteOptions =
    SqliteOptions { busy_wait: Duration::from_secs(120), read_only: true, durable: true };

#[test]
fn a_new_file_is_made_for_its_owner_only_and_comes_back() {
    let folder = Folder::new();
    let path = folder.file("deep/er/store.db");
    let lease = open(&path).join(&node(1)).unwrap();
    assert_eq!(open(&path).holder(lease.scope_id).unwrap(), Some(lease));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path.clone()), 0o600);
        assert_eq!(mode(folder.file("deep")), 0o700);
        assert_eq!(mode(folder.file("deep/er")), 0o700);
    }
    let store = open(&path);
    let text = |pragma: &str| -> String {
        store.connection().query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(text("journal_mode"), "wal");
    let number = |pragma: &str| -> i64 {
        store.connection().query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((number("synchronous"), number("foreign_keys")), (2, 0));
}

#[test]
fn what_is_no_database_is_left_alone() {
    let folder = Folder::new();
    assert!(matches!(refused(folder.file(""), WRITE), StoreError::Open { .. }));
    let path = folder.file("notes.txt");
    let notes = "these are notes, and they are longer than a header".repeat(100);
    std::fs::write(&path, &notes).unwrap();
    assert!(matches!(refused(&path, WRITE), StoreError::Foreign { .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notes);
    std::fs::write(&path, "short").unwrap();
    assert!(matches!(refused(&path, WRITE), StoreError::Foreign { .. }));
    let path = folder.file("file/store.db");
    std::fs::write(folder.file("file"), "").unwrap();
    assert!(matches!(refused(path, WRITE), StoreError::Open { .. }));
    assert!(matches!(refused(folder.file("none.db"), READ), StoreError::Open { .. }));
    assert!(!folder.file("none.db").exists());
}

#[test]
fn the_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    let path = folder.file("other.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE run (id); INSERT INTO run VALUES (1);").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(refused(&path, WRITE), StoreError::Foreign { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_schema_is_left_alone() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    open(&path).connection().pragma_update(None, "user_version", 999).unwrap();
    match refused(&path, WRITE) {
        StoreError::Newer { found, known, .. } => assert!(found == 999 && known < 999),
        other => panic!("{other}"),
    }
}

#[test]
fn damage_is_named_as_such() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    let mut store = open(&path);
    store.register(&[flights()], at(0)).unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    // Every page but the first is noise.
    let mut bytes = whole.clone();
    bytes[4096..].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    let answer = SqliteStore::open(&path, WRITE).and_then(|mut store| store.dag("flights"));
    assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
    // The header is right and what follows is not.
    let mut bytes = whole;
    bytes[16..100].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let answer = SqliteStore::open(&path, WRITE).and_then(|mut store| store.dag("flights"));
    assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
}

#[test]
fn a_file_may_be_read_only() {
    let folder = Folder::new();
    let path = folder.file("store.db");
    open(&path).register(&[flights()], at(0)).unwrap();
    let mut reader = SqliteStore::open(&path, READ).unwrap();
    assert_eq!(reader.dag_keys().unwrap(), ["flights"]);
    let answer = reader.join(&node(1));
    assert!(matches!(answer, Err(StoreError::Write { .. })), "{answer:?}");
    drop(reader);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    assert!(matches!(refused(&path, WRITE), StoreError::Open { .. }));
}

#[test]
fn a_full_disk_undoes_the_batch_and_the_store_goes_on() {
    let folder = Folder::new();
    let mut store = open(folder.file("store.db"));
    let (run, full) = {
        let mut desk = Desk::open(&mut store);
        let run = desk.create(0);
        let mut full = desk.batch();
        full.journal.push((run.row.id, vec![0; 1 << 20]));
        (run, full)
    };
    let pages: i64 =
        store.connection().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let limit = |store: &SqliteStore, pages: i64| {
        let text = format!("PRAGMA max_page_count = {pages}");
        store.connection().query_row(&text, [], |row| row.get::<_, i64>(0)).unwrap();
    };
    limit(&store, pages + 2);
    match store.commit(&full) {
        Err(mainspring::store::CommitError::Store(StoreError::Write { hint, .. })) => {
            assert!(hint.contains("room"), "{hint}");
        }
        other => panic!("{other:?}"),
    }
    assert!(store.journal(run.row.id).unwrap().is_empty());
    limit(&store, pages + 10_000);
    store.commit(&full).unwrap();
    assert_eq!(store.journal(run.row.id).unwrap().len(), 1);
}

#[test]
fn a_question_that_would_write_is_none() {
    let folder = Folder::new();
    let mut store = open(folder.file("store.db"));
    store.register(&[flights()], at(0)).unwrap();
    for text in ["DELETE FROM task", "CREATE TABLE t (a)", "UPDATE dag SET key = 'x'"] {
        assert!(matches!(store.ask(text, &[]), Err(StoreError::Writes)), "{text}");
    }
    let table = store.ask("SELECT count(*) AS n FROM task", &[]).unwrap();
    assert_eq!(
        (table.columns, table.rows),
        (vec!["n".to_owned()], vec![vec![SqlValue::Integer(3)]])
    );
}
