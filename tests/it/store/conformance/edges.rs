//! What edges, followers and people ask of tasks: lives, ends that nobody saw, assets, and who is
//! disabled.

use mainspring::model::{
    DagDef, Date, EdgeKind, OffsetUnit, PeriodKind, State, TaskDef, TaskId, TaskRunId,
};
use mainspring::store::{
    CreatedRun, DependentEdge, EndsAsked, Progressed, RegisteredDag, Store, StoreError,
};

use crate::store::support::{Desk, at, dag, edge, flights, new_run, schedule, task};

fn day(text: &str) -> Date {
    Date::parse(text).unwrap()
}

fn register(store: &mut dyn Store, def: DagDef, now: i64) -> RegisteredDag {
    store.register(&[def], at(now)).unwrap().remove(0)
}

fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Refused(problems)) => problems.to_string(),
        other => panic!("{other:?}"),
    }
}

pub fn an_upstream_is_told_with_the_lives_of_its_schedules(store: &mut dyn Store) {
    let mut def = flights();
    def.timezone = "Asia/Shanghai".into();
    def.schedules = vec![schedule("default", "0 2 * * *")];
    def.tasks[0].produces = vec!["raw".into(), "clean".into()];
    let registered = register(store, def.clone(), 3);
    let found = store.upstream("flights.fetch").unwrap().unwrap();
    assert_eq!(found.task, registered.tasks[0].task_id);
    assert_eq!((found.timezone.as_str(), found.since), ("Asia/Shanghai", at(3)));
    assert_eq!((found.removed, found.is_probe, found.biz_offset), (false, false, None));
    assert_eq!(found.produces, ["clean", "raw"]);
    let kinds = |of: &mainspring::store::UpstreamTask| -> Vec<_> {
        let lives = of.schedules.iter();
        lives.map(|(def, all)| (def.name.clone(), all.iter().map(|p| p.kind).collect())).collect()
    };
    let only = |kinds: &[PeriodKind]| vec![("default".to_owned(), kinds.to_vec())];
    assert_eq!(kinds(&found), only(&[PeriodKind::Active]));
    // A task and a schedule that leave are still looked at by those who waited for them.
    def.tasks.truncate(1);
    def.schedules.clear();
    def.tasks[0].kind = "probe".into();
    register(store, def, 9);
    let found = store.upstream("flights.fetch").unwrap().unwrap();
    assert_eq!((found.removed, found.is_probe, found.since), (false, true, at(3)));
    assert_eq!(kinds(&found), only(&[PeriodKind::Active, PeriodKind::Removed]));
    assert!(store.upstream("flights.load").unwrap().unwrap().removed);
    assert_eq!(store.upstream("flights.none").unwrap(), None);
    store.remove_dags(&["flights".into()], at(10)).unwrap();
    assert!(store.upstream("flights.fetch").unwrap().unwrap().removed);
}

pub fn who_waits_for_a_task_is_found(store: &mut dyn Store) {
    let mut def = flights();
    def.tasks[0].produces = vec!["raw".into()];
    let mut other = dag("other", vec![task("weekly", &[]), task("drawn", &[]), task("asks", &[])]);
    let mut week = edge("flights.fetch", EdgeKind::Success, -2);
    (week.offset_to, week.offset_unit) = (-1, OffsetUnit::Week);
    other.tasks[0].dependencies = vec![week];
    other.tasks[1].dependencies = vec![edge("flights.fetch", EdgeKind::Weak, 0)];
    other.tasks[2].dependencies = vec![edge("@raw", EdgeKind::Success, 0)];
    let made = store.register(&[def, other.clone()], at(0)).unwrap();
    let of = |dag: usize, task: usize| made[dag].tasks[task].task_id;
    let edge = |task: TaskId, from, to, unit| DependentEdge { task, from, to, unit };
    let sorted = |mut found: Vec<DependentEdge>| {
        found.sort_by_key(|edge| edge.task);
        found
    };
    let found = sorted(store.dependents(of(0, 0)).unwrap());
    let wanted = [
        edge(of(0, 1), 0, 0, OffsetUnit::Day),
        edge(of(1, 0), -2, -1, OffsetUnit::Week),
        edge(of(1, 2), 0, 0, OffsetUnit::Day),
    ];
    assert_eq!(found, wanted);
    assert_eq!(store.dependents(of(0, 2)).unwrap(), []);
    assert_eq!(store.producer("raw").unwrap().as_deref(), Some("flights.fetch"));
    assert_eq!(store.producer("none").unwrap(), None);
    // Edges of versions that are active no more are nobody's.
    other.tasks[0].dependencies.clear();
    other.tasks.pop();
    register(store, other, 1);
    let found = store.dependents(of(0, 0)).unwrap();
    assert_eq!(found, [edge(of(0, 1), 0, 0, OffsetUnit::Day)]);
}

/// A run of `flights` at this instant whose first task stands so, ended at 5.
fn end(desk: &mut Desk<'_>, nominal: i64, to: State, code: Option<&str>) -> CreatedRun {
    let mut run = desk.create(nominal);
    let mut batch = desk.batch();
    let row = &mut run.task_runs[0];
    let before = row.progress.revision;
    row.progress.revision += 1;
    row.progress.state = to;
    row.progress.code = code.map(str::to_owned);
    row.progress.finished_at = to.is_final().then(|| at(5));
    row.progress.result = (to == State::Success).then(|| format!("\"of {nominal}\"").into());
    let progress = row.progress.clone();
    batch.progressed.push(Progressed { id: row.id, expected_revision: before, progress });
    batch.journal.push((run.row.id, b"ended".to_vec()));
    desk.store.commit(&batch).unwrap();
    run
}

pub fn ends_that_a_follower_has_not_seen_are_found(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let follower = register(desk.store, dag("after", vec![task("x", &["flights.fetch"])]), 0);
    let first = end(&mut desk, 300, State::Success, None);
    let failed = end(&mut desk, 100, State::Failed, Some("EXIT_1"));
    let head = desk.store.journal_head().unwrap();
    // The newest run of an instant counts, unless it left the task out.
    end(&mut desk, 200, State::Success, None);
    end(&mut desk, 200, State::Running, None);
    let chosen = end(&mut desk, 400, State::Success, None);
    end(&mut desk, 400, State::Skipped, Some("NOT_SELECTED"));
    end(&mut desk, 500, State::Success, None);
    let asked = EndsAsked {
        task: desk.dag.tasks[0].task_id,
        follower: follower.id,
        since: at(4),
        after: None,
    };
    // An instant of which it has its run is settled; one that somebody tried out is not.
    for (nominal, timed) in [(500, true), (400, false)] {
        let ids = desk.store.next_ids().unwrap();
        let mut run = new_run(&follower, desk.lease, ids, nominal);
        run.row.timed = timed;
        let mut batch = desk.batch();
        batch.created.push(run);
        desk.store.commit(&batch).unwrap();
    }
    let mut ends = |asked: EndsAsked| -> Vec<(i64, State, TaskRunId)> {
        let found = desk.store.upstream_ends(&asked).unwrap().into_iter();
        let told = found.map(|(row, run)| {
            assert_eq!((row.id, row.nominal_at), (run.run, run.nominal_at));
            ((run.nominal_at.0 - at(0).0) / 1_000_000, run.state, run.task_run)
        });
        told.collect()
    };
    let of = |run: &CreatedRun| run.task_runs[0].id;
    let fourth = (400, State::Success, of(&chosen));
    let all = [(100, State::Failed, of(&failed)), (300, State::Success, of(&first)), fourth];
    assert_eq!(ends(asked), all);
    assert_eq!(ends(EndsAsked { since: at(5), ..asked }), []);
    // A store that numbers its journal gives what is new in it alone.
    let new = ends(EndsAsked { after: Some(head), ..asked });
    assert_eq!(new, if head == 0 { all.to_vec() } else { vec![fourth] });
}

pub fn an_end_that_was_left_as_it_was_has_the_output_of_the_success_before(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let follower = register(desk.store, dag("after", vec![task("x", &["flights.fetch"])]), 0);
    let first = end(&mut desk, 100, State::Success, None);
    let second = end(&mut desk, 100, State::Skipped, Some("UNCHANGED"));
    let task = desk.dag.tasks[0].task_id;
    let asked = EndsAsked { task, follower: follower.id, since: at(0), after: None };
    let (_, found) = desk.store.upstream_ends(&asked).unwrap().remove(0);
    assert_eq!((found.run, found.state), (second.row.id, State::Skipped));
    assert_eq!(found.result.as_deref(), Some("\"of 100\""));
    assert_eq!(found.output, (first.row.id, first.task_runs[0].id));
}

pub fn since_when_a_task_is_so_is_told_by_its_versions(store: &mut dyn Store) {
    let handlers = ["jobs:a", "jobs:b", "jobs:b2", "jobs:b3"];
    let mut id = TaskId(0);
    for (now, handler) in (10..).step_by(10).zip(handlers) {
        let mut def = flights();
        def.tasks[0].handler = Some(handler.into());
        id = register(store, def, now).tasks[0].task_id;
    }
    let begins = |with: &'static str| {
        move |def: &TaskDef| def.handler.as_deref().is_some_and(|found| found.starts_with(with))
    };
    assert_eq!(store.so_since(id, &begins("jobs:b")).unwrap(), Some(at(20)));
    assert_eq!(store.so_since(id, &begins("jobs:")).unwrap(), Some(at(10)));
    assert_eq!(store.so_since(id, &begins("jobs:b3")).unwrap(), Some(at(40)));
    assert_eq!(store.so_since(id, &begins("jobs:a")).unwrap(), None);
    assert_eq!(store.so_since(TaskId(99), &|_| true).unwrap(), None);
}

pub fn an_asset_is_declared_once_for_a_date(store: &mut dyn Store) {
    let mut def = flights();
    def.tasks[0].produces = vec!["raw".into()];
    let waits = {
        let mut waits = dag("other", vec![task("asks", &[])]);
        let mut from_outside = edge("@rates", EdgeKind::Success, 0);
        from_outside.external = true;
        waits.tasks[0].dependencies = vec![from_outside];
        waits
    };
    store.register(&[def, waits], at(0)).unwrap();
    let (one, two) = (day("2024-01-14"), day("2024-01-15"));
    for asset in ["raw", "rates"] {
        assert!(!store.is_declared(asset, one).unwrap());
        assert!(store.declare(asset, one, Some("me"), at(1)).unwrap());
        assert!(!store.declare(asset, one, None, at(2)).unwrap());
        assert!(store.is_declared(asset, one).unwrap());
        assert!(!store.is_declared(asset, two).unwrap());
    }
    let text = refused(store.declare("rate", one, None, at(3)));
    assert!(text.contains("rate") && text.contains("rates"), "{text}");
    assert!(!store.is_declared("rate", one).unwrap());
}

pub fn a_task_is_disabled_and_enabled(store: &mut dyn Store) {
    let before = register(store, flights(), 0);
    let stands = |store: &mut dyn Store| {
        let dag = store.dag("flights").unwrap().unwrap();
        (dag.tasks.iter().map(|task| task.enabled).collect::<Vec<_>>(), dag.revision)
    };
    let first = before.revision;
    assert!(store.enable("flights.clean", false, Some("me"), at(1)).unwrap());
    assert!(!store.enable("flights.clean", false, None, at(2)).unwrap());
    assert_eq!(stands(store), (vec![true, false, true], first + 1));
    assert_eq!(store.revisions().unwrap(), [(before.id, first + 1)]);
    // Registering it again leaves it as somebody wanted it.
    register(store, flights(), 3);
    assert_eq!(stands(store), (vec![true, false, true], first + 1));
    assert!(store.enable("flights.clean", true, None, at(4)).unwrap());
    assert_eq!(stands(store), (vec![true, true, true], first + 2));
    for task in ["flights.none", "none.clean", "flights"] {
        assert!(refused(store.enable(task, false, None, at(5))).contains(task));
    }
    store.remove_dags(&["flights".into()], at(6)).unwrap();
    assert_eq!(store.revisions().unwrap(), []);
}

pub fn runs_in_which_something_is_blocked_are_found(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let scope = desk.lease.scope_id;
    assert_eq!(desk.store.blocked_runs(scope).unwrap(), []);
    end(&mut desk, 0, State::Failed, None);
    let later = end(&mut desk, 200, State::Blocked, None);
    let first = end(&mut desk, 100, State::Blocked, None);
    assert_eq!(desk.store.blocked_runs(scope).unwrap(), [later.row.id, first.row.id]);
    let other = desk.store.join(&crate::store::support::node(2)).unwrap();
    assert_eq!(desk.store.blocked_runs(other.scope_id).unwrap(), []);
}
