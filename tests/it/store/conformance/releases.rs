//! Versions that somebody chose.

use mainspring::model::{DagDef, Date, ReleaseAsk, Share};
use mainspring::store::{RegisteredDag, Store, StoreError};

use crate::store::support::{at, dag, flights, schedule, task};

const CLEAN: &str = "flights.clean";

fn register(store: &mut dyn Store, dag: &DagDef) -> RegisteredDag {
    store.register(std::slice::from_ref(dag), at(0)).unwrap().remove(0)
}

/// The definition whose second task has this content.
fn flights_with(handler: &str) -> DagDef {
    let mut def = flights();
    def.tasks[1].handler = Some(format!("jobs:{handler}"));
    def
}

/// Registers versions 1 to `count` of the second task.
fn several(store: &mut dyn Store, count: u32) -> RegisteredDag {
    let all = (1..=count).map(|number| register(store, &flights_with(&format!("clean_{number}"))));
    all.last().unwrap()
}

fn promote(version: u32, share: Option<Share>) -> ReleaseAsk {
    ReleaseAsk::Promote { version, share }
}

fn rollback(version: Option<u32>) -> ReleaseAsk {
    ReleaseAsk::Rollback { version }
}

fn decide(store: &mut dyn Store, ask: ReleaseAsk) -> bool {
    store.release(CLEAN, ask, Some("somebody"), at(7)).unwrap()
}

fn refusal(store: &mut dyn Store, task: &str, ask: ReleaseAsk) -> &'static str {
    match store.release(task, ask, None, at(7)) {
        Err(StoreError::Refused(error)) => error.0[0].code,
        other => panic!("{other:?}"),
    }
}

fn active(store: &mut dyn Store) -> u32 {
    store.dag("flights").unwrap().unwrap().tasks[1].version
}

/// Version and share of the open release.
fn open(store: &mut dyn Store) -> Option<(u32, Option<Share>)> {
    let dag = store.dag("flights").unwrap().unwrap().id;
    let rows = store.releases(dag).unwrap();
    let open: Vec<_> = rows.iter().filter(|row| row.ended_at.is_none()).collect();
    assert!(open.len() <= 1, "{open:?}");
    open.first().map(|row| (row.version, row.share))
}

pub fn a_rollback_pins_the_version_before(store: &mut dyn Store) {
    let before = several(store, 3);
    assert!(decide(store, rollback(None)));
    assert_eq!((active(store), open(store)), (2, Some((2, None))));
    let after = store.dag("flights").unwrap().unwrap();
    assert_eq!(after.revision, before.revision + 1);
    assert_eq!(after.tasks[1].def.handler.as_deref(), Some("jobs:clean_2"));
    // Once more is one further back; from the first there is no way.
    assert!(decide(store, rollback(None)));
    assert_eq!((active(store), open(store)), (1, Some((1, None))));
    assert_eq!(refusal(store, CLEAN, rollback(None)), "nothing_to_roll_back_to");
    // What is so already is no change.
    assert!(!decide(store, rollback(Some(1))));
    let rows = store.releases(after.id).unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.version, row.ended_at)).collect();
    assert_eq!(told, [(1, None), (2, Some(at(7)))]);
    assert_eq!(rows[0].created_by.as_deref(), Some("somebody"));
    assert_eq!(rows[1].ended_by.as_deref(), Some("somebody"));
    assert_eq!(store.verify().unwrap(), []);
}

pub fn registering_does_not_undo_a_pin(store: &mut dyn Store) {
    several(store, 2);
    decide(store, rollback(None));
    let pinned = store.dag("flights").unwrap().unwrap();
    // The same file again changes nothing.
    assert_eq!(register(store, &flights_with("clean_2")), pinned);
    // A new version is made, and waits; the other tasks follow the file.
    let mut edited = flights_with("clean_3");
    edited.tasks[0].handler = Some("jobs:fetch_2".into());
    let found = register(store, &edited);
    assert_eq!(found.tasks.iter().map(|task| task.version).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(register(store, &edited), found);
    let versions = store.task_versions(CLEAN).unwrap();
    let told: Vec<_> =
        versions.iter().map(|row| (row.version, row.active, row.registered)).collect();
    assert_eq!(told, [(3, false, true), (2, false, false), (1, true, false)]);
    // A task that leaves and comes back is still pinned.
    let mut without = edited.clone();
    without.tasks.truncate(1);
    register(store, &without);
    assert_eq!(register(store, &edited).tasks[1].version, 1);
    assert_eq!(store.verify().unwrap(), []);
    // To promote what is registered ends it: then the newest is active again.
    assert!(decide(store, promote(3, None)));
    assert_eq!((active(store), open(store)), (3, None));
    assert_eq!(register(store, &flights_with("clean_4")).tasks[1].version, 4);
    assert_eq!(store.verify().unwrap(), []);
}

pub fn a_share_leaves_the_rest_to_the_version_before(store: &mut dyn Store) {
    several(store, 3);
    let percent = Some(Share::Percent(10));
    // The newest is active already: the one before it has the rest.
    assert!(decide(store, promote(3, percent)));
    assert_eq!((active(store), open(store)), (2, Some((3, percent))));
    let held = store.dag("flights").unwrap().unwrap().held;
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].active.version, 2);
    let (share, other) = held[0].other.clone().unwrap();
    assert_eq!((Some(share), other.version), (percent, 3));
    // A larger share of the same version has the same rest.
    let more = Some(Share::Percent(50));
    assert!(decide(store, promote(3, more)));
    assert_eq!((active(store), open(store)), (2, Some((3, more))));
    assert_eq!(refusal(store, CLEAN, promote(2, percent)), "is_the_base");
    // From a date on.
    let from = Some(Share::FromBizDate(Date::parse("2024-05-01").unwrap()));
    assert!(decide(store, promote(3, from)));
    assert_eq!(open(store), Some((3, from)));
    // Meanwhile a new version waits.
    assert_eq!(register(store, &flights_with("clean_4")).tasks[1].version, 2);
    // Rolling back leaves all to the rest.
    assert!(decide(store, rollback(None)));
    assert_eq!((active(store), open(store)), (2, Some((2, None))));
    let dag = store.dag("flights").unwrap().unwrap();
    let rows = store.releases(dag.id).unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.version, row.share, row.base)).collect();
    assert_eq!(
        told,
        [(2, None, None), (3, from, Some(2)), (3, more, Some(2)), (3, percent, Some(2))]
    );
    assert_eq!(store.verify().unwrap(), []);
}

pub fn a_release_says_what_is_wrong_with_it(store: &mut dyn Store) {
    several(store, 2);
    let before = store.dag("flights").unwrap();
    for (task, ask, code) in [
        ("flights.nobody", rollback(None), "unknown_task"),
        ("nobody.clean", rollback(None), "unknown_task"),
        (CLEAN, promote(3, None), "unknown_version"),
        (CLEAN, rollback(Some(0)), "unknown_version"),
        (CLEAN, promote(1, Some(Share::Percent(0))), "bad_percent"),
        (CLEAN, promote(1, Some(Share::Percent(101))), "bad_percent"),
        ("flights.load", promote(1, Some(Share::Percent(5))), "no_other_version"),
        ("flights.load", rollback(None), "nothing_to_roll_back_to"),
    ] {
        assert_eq!(refusal(store, task, ask), code, "{task} {ask:?}");
    }
    decide(store, rollback(Some(1)));
    assert_eq!(refusal(store, CLEAN, rollback(Some(2))), "not_older");
    decide(store, promote(2, None));
    assert_eq!(store.dag("flights").unwrap().unwrap().tasks, before.unwrap().tasks);
}

pub fn versions_that_do_not_fit_together_are_refused(store: &mut dyn Store) {
    // First b waits for a, then a for b.
    register(store, &dag("d", vec![task("a", &[]), task("b", &["d.a"])]));
    register(store, &dag("d", vec![task("a", &["d.b"]), task("b", &[])]));
    let half = Some(Share::Percent(50));
    assert_eq!(refusal(store, "d.b", rollback(None)), "cycle");
    assert_eq!(refusal(store, "d.b", promote(1, half)), "cycle");
    assert!(store.dag("d").unwrap().unwrap().held.is_empty());
    // With a rolled back first there is no circle, and the file cannot close it.
    store.release("d.a", rollback(None), None, at(1)).unwrap();
    store.release("d.b", rollback(None), None, at(2)).unwrap();
    let found = store.dag("d").unwrap().unwrap();
    assert_eq!(found.tasks.iter().map(|task| task.version).collect::<Vec<_>>(), [1, 1]);
    // Half of the dates would have it.
    assert_eq!(refusal(store, "d.a", promote(2, half)), "cycle");
    // A chosen version waits for a task that the file has no more.
    let answer = store.register(&[dag("d", vec![task("b", &[])])], at(3));
    let Err(StoreError::Refused(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.0[0].code, "unknown_upstream");
    assert!(error.0[0].hint.as_deref().unwrap().contains("d.b"), "{error}");
    assert_eq!(store.dag("d").unwrap().unwrap(), found);
    assert_eq!(store.verify().unwrap(), []);
}

pub fn the_circle_of_a_chosen_version_may_go_through_another_dag(store: &mut dyn Store) {
    register(store, &dag("x", vec![task("one", &[])]));
    register(store, &dag("y", vec![task("two", &["x.one"])]));
    register(store, &dag("y", vec![task("two", &[])]));
    store.release("y.two", promote(1, Some(Share::Percent(1))), None, at(1)).unwrap();
    let answer = store.register(&[dag("x", vec![task("one", &["y.two"])])], at(2));
    let Err(StoreError::Refused(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.0[0].code, "cycle");
}

pub fn a_resource_of_a_chosen_version_is_taken(store: &mut dyn Store) {
    let with = |resource: Option<&str>, other: Option<&str>| {
        let mut def = flights();
        def.tasks[1].resource = resource.map(str::to_owned);
        def.tasks[2].resource = other.map(str::to_owned);
        def
    };
    register(store, &with(Some("warehouse.flights"), None));
    register(store, &with(None, None));
    decide(store, rollback(None));
    let answer = store.register(&[with(None, Some("warehouse.flights"))], at(1));
    let Err(StoreError::Refused(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.0[0].code, "duplicate_resource");
    register(store, &with(None, Some("warehouse.others")));
    assert_eq!(store.verify().unwrap(), []);
    decide(store, promote(2, None));
    register(store, &with(None, Some("warehouse.flights")));
    assert_eq!(refusal(store, CLEAN, rollback(None)), "duplicate_resource");
}

pub fn what_schedules_give_must_be_what_the_chosen_versions_take(store: &mut dyn Store) {
    let hour = serde_json::json!({"name": "hour", "type": "int", "required": true});
    let with = |takes: bool, gives: bool| {
        let mut def = flights();
        let taken = takes.then(|| serde_json::from_value(hour.clone()).unwrap());
        def.tasks[1].param_schema = taken.into_iter().collect();
        let mut daily = schedule("daily", "0 2 * * *");
        daily.bindings[0].params =
            gives.then(|| ("hour".to_owned(), 3.into())).into_iter().collect();
        def.schedules = vec![daily];
        def
    };
    register(store, &with(false, false));
    register(store, &with(true, true));
    // The schedule gives what the first version does not know.
    assert_eq!(refusal(store, CLEAN, rollback(None)), "unknown_parameter");
    assert_eq!(refusal(store, CLEAN, promote(1, Some(Share::Percent(5)))), "unknown_parameter");
    register(store, &with(false, false));
    // And now it does not give what the second one needs.
    assert_eq!(refusal(store, CLEAN, promote(2, None)), "required_without_value");
    decide(store, rollback(Some(1)));
    let answer = store.register(&[with(true, true)], at(9));
    let Err(StoreError::Refused(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.0[0].code, "unknown_parameter");
    assert!(error.0[0].hint.as_deref().unwrap().contains(CLEAN));
    assert_eq!(store.verify().unwrap(), []);
}

pub fn the_content_of_files_is_kept_by_version(store: &mut dyn Store) {
    let first = several(store, 1).tasks[1].version_id;
    store.keep_code(&[("flights", "one"), ("nobody", "none")]).unwrap();
    let second = several(store, 2).tasks[1].version_id;
    store.keep_code(&[("flights", "two")]).unwrap();
    decide(store, rollback(None));
    // The file was edited elsewhere: what is registered of it is in that now.
    store.keep_code(&[("flights", "three")]).unwrap();
    let code = store.code(&[first, second]).unwrap();
    assert_eq!(code, [(first, "one".to_owned()), (second, "three".to_owned())].into());
}
