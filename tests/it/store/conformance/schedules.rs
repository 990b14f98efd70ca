//! The lives of schedules: registered, edited, renamed, removed, and brought back.

use std::slice::from_ref;

use mainspring::model::{
    Binding, BizOffset, CalendarDef, DagDef, Date, Fold, Gap, Instant, Missed, OnClosed, Overlap,
    Period, PeriodKind, ScheduleDef, Target, TimeRule,
};
use mainspring::store::{RegisteredDag, Store, StoreError, StoredSchedule};
use serde_json::json;

use crate::store::support::{Desk, at, flights, schedule};

/// `flights` with these schedules.
fn with(schedules: &[ScheduleDef]) -> DagDef {
    DagDef { schedules: schedules.to_vec(), ..flights() }
}

fn register(store: &mut dyn Store, schedules: &[ScheduleDef], now: i64) -> RegisteredDag {
    store.register(&[with(schedules)], at(now)).unwrap().remove(0)
}

fn firing(store: &mut dyn Store, dag: &RegisteredDag) -> Vec<StoredSchedule> {
    store.schedules(dag.id).unwrap()
}

fn period(from: i64, until: Option<i64>, kind: PeriodKind, rule: &TimeRule) -> Period {
    Period { from: at(from), until: until.map(at), kind, rule: rule.clone() }
}

/// A daily schedule, and the same one at another time.
fn two_rules() -> (ScheduleDef, ScheduleDef) {
    let early = schedule("default", "0 2 * * *");
    let mut late = early.clone();
    late.rule.expression = "0 3 * * *".into();
    (early, late)
}

pub fn a_new_schedule_begins_to_live_now(store: &mut dyn Store) {
    let mut paused = schedule("paused", "@daily");
    paused.paused = true;
    let defs = [schedule("default", "0 2 * * *"), paused];
    let dag = register(store, &defs, 5);
    let found = firing(store, &dag);
    assert_eq!(found.len(), 2);
    for (schedule, def, kind) in
        [(&found[0], &defs[0], PeriodKind::Active), (&found[1], &defs[1], PeriodKind::Paused)]
    {
        assert_eq!((schedule.dag, &schedule.def, schedule.watermark), (dag.id, def, at(5)));
        assert_eq!(schedule.periods, [period(5, None, kind, &def.rule)]);
        let target = Target { dag: dag.id, task: None };
        assert_eq!(schedule.bindings, [(target, Default::default())]);
        assert_eq!((schedule.ahead.len(), schedule.last_skip), (0, None));
    }
    assert_eq!(dag.schedules, [(found[0].id, defs[0].clone()), (found[1].id, defs[1].clone())]);
    let other = store.register(&[DagDef { key: "other".into(), ..flights() }], at(6));
    // Edges lead to the tasks of the first; only the schedules are of interest here.
    let other = other.unwrap().remove(0);
    assert_eq!(firing(store, &other), []);
}

pub fn everything_that_a_schedule_says_is_read_back(store: &mut dyn Store) {
    let mut rule = TimeRule::new("every 6h", "Europe/Berlin");
    rule.start_date = Date::parse("2024-02-01").ok();
    rule.end_date = Date::parse("2024-12-31").ok();
    (rule.gap, rule.fold, rule.on) = (Gap::Shift, Fold::Both, OnClosed::Next);
    rule.anchor = Some(at(-7));
    rule.jitter_ms = 1_500;
    rule.calendar = Some(CalendarDef {
        name: "banks".into(),
        weekdays: vec![0, 1, 2, 3, 4],
        include: Date::parse("2024-02-03").ok().into_iter().collect(),
        exclude: Date::parse("2024-05-01").ok().into_iter().collect(),
    });
    let mut def = ScheduleDef::new("whole", rule);
    def.biz_offset = Some(BizOffset::Workdays(-2));
    (def.missed, def.overlap, def.missed_window_ms) = (Missed::Last, Overlap::Skip, 60_000);
    let params = [("x".to_owned(), json!({"a": [0.1, null, "ü"]}))].into();
    def.bindings = vec![
        Binding { task: Some("load".into()), params },
        Binding { task: Some("load".into()), params: Default::default() },
        Binding { task: Some("fetch".into()), params: Default::default() },
        Binding::default(),
    ];
    let mut second = ScheduleDef::new("second", TimeRule::new("@daily", "UTC"));
    second.biz_offset = Some(BizOffset::IntervalStart);
    let dag = register(store, &[def.clone(), second.clone()], 0);
    let found = firing(store, &dag);
    assert_eq!((&found[0].def, &found[1].def), (&def, &second));
    assert_eq!(store.dag("flights").unwrap().unwrap().schedules[0].1, def);
    assert_eq!(found[0].periods, [period(0, None, PeriodKind::Active, &def.rule)]);
    let (fetch, load) = (dag.tasks[0].task_id, dag.tasks[2].task_id);
    let bound: Vec<_> = found[0].bindings.iter().map(|(target, _)| target.task).collect();
    assert_eq!(bound, [Some(load), Some(load), Some(fetch), None]);
    assert_eq!(found[0].bindings[0].1, def.bindings[0].params);
    assert_eq!(register(store, &[def, second], 9), dag);
}

pub fn the_same_schedules_again_change_nothing(store: &mut dyn Store) {
    let (early, _) = two_rules();
    let mut other = schedule("other", "@hourly");
    other.paused = true;
    other.bindings[0].task = Some("load".into());
    let dag = register(store, &[early.clone(), other.clone()], 0);
    let before = firing(store, &dag);
    for now in [1, 100, -100] {
        assert_eq!(register(store, &[early.clone(), other.clone()], now), dag);
        assert_eq!(firing(store, &dag), before);
    }
}

pub fn another_rule_begins_another_period(store: &mut dyn Store) {
    let (early, late) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    assert_eq!(register(store, from_ref(&late), 10).revision, dag.revision + 1);
    let found = firing(store, &dag).remove(0);
    let active = PeriodKind::Active;
    let first = period(0, Some(10), active, &early.rule);
    assert_eq!(found.periods, [first.clone(), period(10, None, active, &late.rule)]);
    assert_eq!((found.watermark, found.def), (at(0), late));
    // Back again at that very instant: no fire fell into the period between.
    register(store, from_ref(&early), 10);
    let found = firing(store, &dag).remove(0);
    assert_eq!(found.periods, [first, period(10, None, active, &early.rule)]);
}

pub fn a_clock_that_was_set_back_makes_no_period(store: &mut dyn Store) {
    let (early, late) = two_rules();
    let dag = register(store, &[early], 50);
    register(store, from_ref(&late), 20);
    let found = firing(store, &dag).remove(0);
    assert_eq!(found.periods, [period(50, None, PeriodKind::Active, &late.rule)]);
    assert_eq!(store.verify().unwrap(), []);
}

pub fn what_does_not_change_the_fires_begins_no_period(store: &mut dyn Store) {
    let (early, _) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    let mut def = early.clone();
    def.missed = Missed::None;
    def.overlap = Overlap::Skip;
    def.biz_offset = None;
    def.bindings = vec![Binding { task: Some("load".into()), params: Default::default() }];
    let edited = register(store, from_ref(&def), 10);
    assert_eq!(edited.revision, dag.revision + 1);
    let found = firing(store, &dag).remove(0);
    assert_eq!(found.periods, [period(0, None, PeriodKind::Active, &early.rule)]);
    assert_eq!(found.bindings[0].0.task, Some(dag.tasks[2].task_id));
    assert_eq!((found.def, found.watermark), (def, at(0)));
}

pub fn a_removed_schedule_is_there_until_its_fires_are_covered(store: &mut dyn Store) {
    let (early, late) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    register(store, &[], 10);
    assert_eq!(store.dag("flights").unwrap().unwrap().schedules, []);
    let found = firing(store, &dag).remove(0);
    let lived = period(0, Some(10), PeriodKind::Active, &early.rule);
    let gone = period(10, None, PeriodKind::Removed, &early.rule);
    assert_eq!(found.periods, [lived.clone(), gone]);
    // Removed once, it is not removed again.
    register(store, &[], 15);
    assert_eq!(firing(store, &dag), [found]);
    // It comes back with another rule.
    register(store, from_ref(&late), 20);
    let found = firing(store, &dag).remove(0);
    let gone = period(10, Some(20), PeriodKind::Removed, &early.rule);
    let back = period(20, None, PeriodKind::Active, &late.rule);
    assert_eq!((found.watermark, found.periods), (at(0), vec![lived, gone, back]));
    assert_eq!(store.verify().unwrap(), []);
}

pub fn a_schedule_that_never_fired_leaves_at_once(store: &mut dyn Store) {
    let (early, late) = two_rules();
    let dag = register(store, &[early], 0);
    register(store, &[], 0);
    assert_eq!(firing(store, &dag), []);
    register(store, from_ref(&late), 0);
    let found = firing(store, &dag).remove(0);
    assert_eq!(found.periods, [period(0, None, PeriodKind::Active, &late.rule)]);
}

pub fn a_renamed_schedule_is_the_same_one(store: &mut dyn Store) {
    let (early, _) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    let before = firing(store, &dag).remove(0);
    let night =
        ScheduleDef { name: "night".into(), renamed_from: Some("default".into()), ..early.clone() };
    let renamed = register(store, from_ref(&night), 10);
    let found = firing(store, &dag).remove(0);
    assert_eq!(renamed.schedules, [(before.id, night.clone())]);
    assert_eq!((found.id, &found.periods), (before.id, &before.periods));
    assert_eq!(register(store, from_ref(&night), 20), renamed);
    // The hint may go, and it may stay when there is a new one of the old name.
    let plain = ScheduleDef { renamed_from: None, ..night.clone() };
    assert_eq!(register(store, &[plain], 30).schedules[0].0, before.id);
    let both = register(store, &[night, early], 40);
    assert_eq!(both.schedules[0].0, before.id);
    assert_ne!(both.schedules[1].0, before.id);
    assert_eq!(firing(store, &dag)[0].periods, before.periods);
    assert_eq!(firing(store, &dag)[1].periods[0].from, at(40));
}

pub fn a_name_is_given_on_once_and_only_when_it_is_free(store: &mut dyn Store) {
    let (early, late) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    let id = dag.schedules[0].0;
    let from_default = |name: &str| ScheduleDef {
        name: name.into(),
        renamed_from: Some("default".into()),
        ..late.clone()
    };
    // It is still defined: the other one is new.
    let second = register(store, &[early.clone(), from_default("a")], 5);
    assert_eq!(second.schedules[0].0, id);
    assert_ne!(second.schedules[1].0, id);
    // A removed one may be renamed too; of two who want it the first one gets it.
    register(store, &[], 10);
    let third = register(store, &[from_default("b"), from_default("c")], 20);
    assert_eq!(third.schedules[0].0, id);
    assert_ne!(third.schedules[1].0, id);
    let kinds: Vec<_> = firing(store, &dag)
        .into_iter()
        .find(|found| found.id == id)
        .map(|found| found.periods.iter().map(|each| each.kind).collect())
        .unwrap();
    assert_eq!(kinds, [PeriodKind::Active, PeriodKind::Removed, PeriodKind::Active]);
    // There is one of that name, though it is removed.
    let fourth = register(store, &[from_default("a")], 30);
    assert_eq!(fourth.schedules[0].0, second.schedules[1].0);
}

pub fn a_schedule_fires_tasks_of_its_dag(store: &mut dyn Store) {
    let (mut early, _) = two_rules();
    early.bindings = vec![
        Binding { task: Some("load".into()), params: [("x".to_owned(), json!(1))].into() },
        Binding { task: Some("load".into()), params: [("x".to_owned(), json!(2))].into() },
    ];
    let dag = register(store, from_ref(&early), 0);
    let found = firing(store, &dag).remove(0);
    let values: Vec<_> = found.bindings.iter().map(|(_, params)| params["x"].clone()).collect();
    assert_eq!(values, [json!(1), json!(2)]);
    // A task that leaves cannot be fired, and cannot be asked for.
    let mut def = with(&[early]);
    def.tasks.pop();
    match store.register(from_ref(&def), at(10)) {
        Err(StoreError::Refused(error)) => {
            assert!(error.0.iter().all(|problem| problem.code == "unknown_task"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    def.schedules.clear();
    store.register(&[def], at(10)).unwrap();
    let found = firing(store, &dag).remove(0);
    assert_eq!((found.bindings.len(), found.def.bindings.len()), (0, 2));
}

pub fn a_dag_leaves_with_its_schedules_and_comes_back(store: &mut dyn Store) {
    let (early, _) = two_rules();
    let dag = register(store, from_ref(&early), 0);
    let keys = ["nobody".to_owned(), "flights".to_owned()];
    store.remove_dags(&keys, at(10)).unwrap();
    store.remove_dags(&keys, at(12)).unwrap();
    assert!(store.dag_keys().unwrap().is_empty());
    let gone = store.dag("flights").unwrap().unwrap();
    assert_eq!((gone.id, gone.revision, gone.schedules.len()), (dag.id, dag.revision + 1, 0));
    let found = firing(store, &dag).remove(0);
    let lived = period(0, Some(10), PeriodKind::Active, &early.rule);
    let removed = |until| period(10, until, PeriodKind::Removed, &early.rule);
    assert_eq!(found.periods, [lived.clone(), removed(None)]);
    let back = register(store, from_ref(&early), 20);
    assert_eq!((back.id, &back.tasks, &back.schedules), (dag.id, &dag.tasks, &dag.schedules));
    assert_eq!(store.dag_keys().unwrap(), ["flights"]);
    let found = firing(store, &dag).remove(0);
    let active = period(20, None, PeriodKind::Active, &early.rule);
    assert_eq!(found.periods, [lived, removed(Some(20)), active]);
    // Without schedules it comes back all the same.
    store.register(&[DagDef { key: "plain".into(), ..with(&[]) }], at(20)).unwrap();
    store.remove_dags(&["plain".to_owned()], at(21)).unwrap();
    assert_eq!(store.dag_keys().unwrap(), ["flights"]);
    store.register(&[DagDef { key: "plain".into(), ..with(&[]) }], at(22)).unwrap();
    assert_eq!(store.dag_keys().unwrap(), ["flights", "plain"]);
}

/// Several processes that load the same files, in any order, one after the other.
pub fn who_registers_second_finds_it_done(store: &mut dyn Store) {
    let (early, _) = two_rules();
    let desk = Desk::open(store);
    let defs = [with(&[early]), DagDef { key: "other".into(), tasks: vec![], ..flights() }];
    let first = desk.store.register(&defs, at(1)).unwrap();
    let schedules = desk.store.schedules(first[0].id).unwrap();
    for (now, order) in [(2, [1, 0]), (3, [0, 1])] {
        for at_def in order {
            let again = desk.store.register(&defs[at_def..=at_def], at(now)).unwrap();
            assert_eq!(again[0], first[at_def]);
        }
    }
    assert_eq!(desk.store.schedules(first[0].id).unwrap(), schedules);
    assert_eq!(schedules[0].watermark, Instant(at(1).0));
}
