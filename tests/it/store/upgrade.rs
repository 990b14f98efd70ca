//! A file that an earlier version wrote is brought up to date, and says what it said before.

use mainspring::model::{BizOffset, Date, Instant, PeriodKind, ScheduleDef, Target, TimeRule};
use mainspring::store::{RunFilter, SqliteStore, Store};
use rusqlite::Connection;
use serde_json::json;

use super::support::file::{Folder, open};

/// When its schedules were registered, and when one of them was removed.
const REGISTERED: Instant = Instant(1_796_044_173_232_651);
const REMOVED: Instant = Instant(1_796_044_183_013_098);

/// Two dags' worth of what schema 2 could say; see the text.
fn schema_2(folder: &Folder) -> std::path::PathBuf {
    let path = folder.file("old.db");
    let text = include_str!("../../data/store/schema_2.sql");
    Connection::open(&path).unwrap().execute_batch(text).unwrap();
    path
}

/// The definitions as the author of that file wrote them.
fn written() -> [ScheduleDef; 3] {
    let mut night = ScheduleDef::new("default", TimeRule::new("0 2 * * *", "Asia/Shanghai"));
    night.rule.start_date = Date::parse("2024-01-01").ok();
    night.biz_offset = Some(BizOffset::Days(-1));
    let mut noon = ScheduleDef::new("noon", TimeRule::new("0 0 12 * * ?", "America/New_York"));
    noon.rule.end_date = Date::parse("2030-12-31").ok();
    noon.paused = true;
    noon.bindings[0].params = [
        ("names".to_owned(), json!(["a", "ü"])),
        ("note".to_owned(), json!(null)),
        ("size".to_owned(), json!(0.1)),
    ]
    .into();
    [night, noon, ScheduleDef::new("hourly", TimeRule::new("every 6h", "Asia/Shanghai"))]
}

#[test]
fn an_older_file_says_after_its_upgrade_what_it_said_before() {
    let folder = Folder::new();
    let path = schema_2(&folder);
    assert_eq!(SqliteStore::migrate(&path).unwrap(), (2, 10));
    assert_eq!(SqliteStore::migrate(&path).unwrap(), (10, 10));
    let mut store = open(&path);
    let [night, noon, hourly] = written();
    let dag = store.dag("flights").unwrap().unwrap();
    let defs: Vec<_> = dag.schedules.iter().map(|(_, def)| def.clone()).collect();
    assert_eq!(defs, [night.clone(), noon.clone()]);
    let found = store.schedules(dag.id).unwrap();
    assert_eq!(found.len(), 2);
    for (schedule, def, kind) in
        [(&found[0], &night, PeriodKind::Active), (&found[1], &noon, PeriodKind::Paused)]
    {
        assert_eq!((&schedule.def, schedule.watermark), (def, REGISTERED));
        let [life] = &schedule.periods[..] else { panic!("{:?}", schedule.periods) };
        assert_eq!((life.from, life.until, life.kind), (REGISTERED, None, kind));
        assert_eq!(life.rule, def.rule);
        let target = Target { dag: dag.id, task: None };
        assert_eq!(schedule.bindings, [(target, def.bindings[0].params.clone())]);
    }
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.row.task_id.is_none() && run.row.variant.is_empty()));
    assert_eq!(store.verify().unwrap(), []);
    // The same definitions are the same: not a row changes.
    let tasks = dag.tasks.iter().map(|task| (*task.def).clone()).collect();
    let mut def =
        mainspring::model::DagDef { tasks, schedules: vec![night, noon], ..dag.def.clone() };
    let again = store.register(std::slice::from_ref(&def), Instant(REMOVED.0 + 5)).unwrap();
    assert_eq!(again, std::slice::from_ref(&dag));
    assert_eq!(store.schedules(dag.id).unwrap(), found);
    // The removed one comes back as the one that it was.
    def.schedules.push(hourly.clone());
    let back = store.register(&[def], Instant(REMOVED.0 + 7)).unwrap().remove(0);
    assert_eq!(back.schedules.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(back.schedules[2].1, hourly);
    let periods = store.schedules(dag.id).unwrap().remove(2).periods;
    let kinds: Vec<_> = periods.iter().map(|each| (each.kind, each.from)).collect();
    let returned = Instant(REMOVED.0 + 7);
    assert_eq!(kinds, [(PeriodKind::Removed, REGISTERED), (PeriodKind::Active, returned)]);
    assert_eq!(store.verify().unwrap(), []);
}

/// Both ways to the newest schema end at the same one.
#[test]
fn an_upgraded_file_is_like_a_new_one() {
    let folder = Folder::new();
    let old = open(schema_2(&folder));
    let new = open(folder.file("new.db"));
    let schema = |store: &SqliteStore| -> Vec<(String, String)> {
        let text = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        let mut select = store.connection().prepare(text).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(schema(&old), schema(&new));
}
