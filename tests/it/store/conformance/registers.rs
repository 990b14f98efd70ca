//! Registering definitions.

use mainspring::model::{DagDef, EdgeKind, TaskDef};
use mainspring::store::{RegisteredDag, Store, StoreError};

use crate::store::support::{at, dag, edge, flights, schedule, task};

fn problems(answer: Result<Vec<RegisteredDag>, StoreError>) -> Vec<&'static str> {
    match answer {
        Err(StoreError::Refused(error)) => error.0.iter().map(|problem| problem.code).collect(),
        other => panic!("{other:?}"),
    }
}

fn register(store: &mut dyn Store, dag: &DagDef) -> RegisteredDag {
    store.register(std::slice::from_ref(dag), at(0)).unwrap().remove(0)
}

pub fn what_is_registered_is_read_back(store: &mut dyn Store) {
    let mut def = flights();
    def.labels = vec!["team=air".into()];
    def.schedules = vec![schedule("default", "0 2 * * *")];
    let other = dag("other", vec![task("only", &["flights.load"])]);
    let answer = store.register(&[other.clone(), def.clone()], at(0)).unwrap();
    assert_eq!(answer.len(), 2);
    let found = store.dag("flights").unwrap().unwrap();
    assert_eq!(answer[1], found);
    let tasks: Vec<TaskDef> = found.tasks.iter().map(|task| (*task.def).clone()).collect();
    assert_eq!(tasks, def.tasks);
    assert_eq!(found.schedules[0].1, def.schedules[0]);
    assert_eq!(found.def, DagDef { tasks: vec![], schedules: vec![], ..def });
    assert_eq!(found.revision, 1);
    assert_eq!(store.dag_keys().unwrap(), ["flights", "other"]);
    assert_eq!(store.dag("nobody").unwrap(), None);
    let ids: Vec<_> = found.tasks.iter().map(|task| task.version_id).collect();
    let versions = store.versions(&ids).unwrap();
    assert!(found.tasks.iter().all(|task| versions[&task.version_id] == *task));
}

pub fn the_same_again_changes_nothing(store: &mut dyn Store) {
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *")];
    let first = register(store, &def);
    for _ in 0..3 {
        assert_eq!(register(store, &def), first);
    }
}

pub fn changed_content_is_a_new_version_and_old_content_its_old_one(store: &mut dyn Store) {
    let mut def = flights();
    let first = register(store, &def);
    def.tasks[1].handler = Some("jobs:clean_2".into());
    let second = register(store, &def);
    let versions = |dag: &RegisteredDag| dag.tasks.iter().map(|t| t.version).collect::<Vec<_>>();
    assert_eq!(versions(&second), [1, 2, 1]);
    assert_eq!(second.revision, first.revision + 1);
    assert_eq!(second.tasks[1].task_id, first.tasks[1].task_id);
    // The old version is still what it was.
    let old = first.tasks[1].version_id;
    let known = store.versions(&[old]).unwrap();
    assert_eq!(known[&old].def.handler.as_deref(), Some("jobs:clean"));
    let third = register(store, &flights());
    assert_eq!(versions(&third), [1, 1, 1]);
    assert_eq!(third.tasks[1].version_id, old);
    // The place in the file is no content.
    let mut moved = flights();
    moved.tasks[0].source = Some("jobs.py:99".into());
    let fourth = register(store, &moved);
    assert_eq!(versions(&fourth), [1, 1, 1]);
    assert_eq!(fourth.tasks[0].def.source.as_deref(), Some("jobs.py:99"));
}

pub fn an_authored_version_keeps_its_content(store: &mut dyn Store) {
    let mut def = flights();
    def.tasks[0].authored_version = Some(3);
    assert_eq!(register(store, &def).tasks[0].version, 3);
    def.tasks[0].handler = Some("jobs:fetch_2".into());
    let before = store.dag("flights").unwrap();
    let answer = store.register(std::slice::from_ref(&def), at(1));
    assert_eq!(problems(answer), ["version_content_changed"]);
    assert_eq!(store.dag("flights").unwrap(), before);
    def.tasks[0].authored_version = Some(4);
    assert_eq!(register(store, &def).tasks[0].version, 4);
    // Back to an earlier one.
    def = flights();
    def.tasks[0].authored_version = Some(3);
    assert_eq!(register(store, &def).tasks[0].version, 3);
    // A number given later to content that was counted is the same version.
    def.tasks[1].authored_version = Some(1);
    assert_eq!(register(store, &def).tasks[1].version, 1);
}

pub fn a_task_that_left_may_come_back(store: &mut dyn Store) {
    let first = register(store, &flights());
    let mut def = flights();
    def.tasks.pop();
    let second = register(store, &def);
    assert_eq!(second.tasks.len(), 2);
    let third = register(store, &flights());
    assert_eq!(third.tasks, first.tasks);
    assert_eq!(third.revision, 3);
    // Another order is another order.
    let mut def = flights();
    def.tasks.reverse();
    let fourth = register(store, &def);
    let names: Vec<&str> = fourth.tasks.iter().map(|task| task.def.name.as_str()).collect();
    assert_eq!(names, ["load", "clean", "fetch"]);
}

pub fn schedules_keep_their_pause(store: &mut dyn Store) {
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *"), schedule("weekend", "0 4 * * 6")];
    def.schedules[1].paused = true;
    let first = register(store, &def);
    def.schedules[1].paused = false;
    def.schedules[0].rule.expression = "0 3 * * *".into();
    let second = register(store, &def);
    assert_eq!(second.schedules[0].0, first.schedules[0].0);
    assert_eq!(second.schedules[0].1.rule.expression, "0 3 * * *");
    assert!(second.schedules[1].1.paused);
    def.schedules.remove(0);
    let third = register(store, &def);
    assert_eq!(third.schedules.len(), 1);
    assert_eq!(third.schedules[0].0, first.schedules[1].0);
    assert_eq!(register(store, &def), third);
}

pub fn cycles_across_dags_are_refused(store: &mut dyn Store) {
    let a = dag("a", vec![task("x", &[]), task("y", &[])]);
    let b = dag("b", vec![task("x", &["a.x"])]);
    store.register(&[a.clone(), b], at(0)).unwrap();
    let mut bad = a.clone();
    bad.tasks[0] = task("x", &["b.x"]);
    assert_eq!(problems(store.register(&[bad], at(1))), ["cycle"]);
    // Through a third one.
    register(store, &dag("c", vec![task("x", &["b.x"])]));
    let mut bad = a.clone();
    bad.tasks[1] = task("y", &["c.x"]);
    bad.tasks[0] = task("x", &["a.y"]);
    assert_eq!(problems(store.register(&[bad], at(1))), ["cycle"]);
    // An earlier period and mere lineage close none.
    let mut good = a;
    good.tasks[0].dependencies =
        vec![edge("c.x", EdgeKind::Success, -1), edge("b.x", EdgeKind::Weak, 0)];
    store.register(&[good], at(1)).unwrap();
}

pub fn an_upstream_must_exist(store: &mut dyn Store) {
    let bad = dag("b", vec![task("x", &["a.x"]), task("y", &["b.z"])]);
    let answer = store.register(std::slice::from_ref(&bad), at(0));
    assert_eq!(problems(answer), ["unknown_upstream", "unknown_upstream"]);
    let mut weak = dag("b", vec![task("x", &[])]);
    weak.tasks[0].dependencies = vec![edge("a.x", EdgeKind::Weak, 0)];
    let answer = store.register(std::slice::from_ref(&weak), at(0));
    assert_eq!(problems(answer), ["unknown_upstream"]);
    assert!(store.dag_keys().unwrap().is_empty());
    // In one call the order does not matter.
    store.register(&[weak, dag("a", vec![task("x", &[])])], at(0)).unwrap();
    assert_eq!(store.dag_keys().unwrap(), ["a", "b"]);
}

pub fn a_resource_may_pass_to_another_task(store: &mut dyn Store) {
    let mut def = flights();
    def.tasks[0].resource = Some("s3://raw".into());
    def.tasks[1].resource = Some("s3://clean".into());
    register(store, &def);
    def.tasks[0].resource = Some("s3://clean".into());
    def.tasks[1].resource = Some("s3://raw".into());
    let swapped = register(store, &def);
    assert_eq!(swapped.tasks[0].def.resource.as_deref(), Some("s3://clean"));
    def.tasks[2].resource = Some("s3://raw".into());
    let answer = store.register(std::slice::from_ref(&def), at(1));
    assert_eq!(problems(answer), ["duplicate_resource"]);
    def.tasks[2].resource_key = Some("second".into());
    register(store, &def);
}
