//! What a batch says of schedules: how far they came, what they skipped, and that they pause.

use mainspring::model::{
    Instant, Period, PeriodKind, RunRow, ScheduleId, Skip, SkipReason, Target, TimedKey,
};
use mainspring::store::{
    Changed, CommitError, CreatedRun, NewSkip, Pause, RunFilter, Store, StoredSchedule, Watermark,
};

use crate::store::support::{Desk, at, flights, new_run, schedule};

/// `flights` with a schedule, registered at 0.
fn open(store: &mut dyn Store) -> (Desk<'_>, ScheduleId) {
    let mut desk = Desk::open(store);
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *")];
    desk.dag = desk.store.register(&[def], at(0)).unwrap().remove(0);
    let id = desk.dag.schedules[0].0;
    (desk, id)
}

fn stored(desk: &mut Desk<'_>) -> StoredSchedule {
    desk.store.schedules(desk.dag.id).unwrap().remove(0)
}

fn conflict<T: std::fmt::Debug>(answer: Result<T, CommitError>, schedule: ScheduleId) {
    match answer {
        Err(CommitError::Conflict { what }) => assert_eq!(what, Changed::Schedule(schedule)),
        other => panic!("{other:?}"),
    }
}

fn advance(
    desk: &mut Desk<'_>,
    schedule: ScheduleId,
    steps: &[(i64, i64)],
) -> Result<(), CommitError> {
    let found = desk.store.schedules(desk.dag.id).unwrap();
    let changed_at = found.iter().find(|each| each.id == schedule).map(|each| each.changed_at);
    advance_if(desk, schedule, steps, changed_at.unwrap_or(at(0)))
}

/// As somebody does it who has seen the schedule as it was then.
fn advance_if(
    desk: &mut Desk<'_>,
    schedule: ScheduleId,
    steps: &[(i64, i64)],
    changed_at: Instant,
) -> Result<(), CommitError> {
    let mut batch = desk.batch();
    for (from, to) in steps {
        batch.watermarks.push(Watermark { schedule, from: at(*from), to: at(*to), changed_at });
    }
    desk.store.commit(&batch)
}

fn skip(schedule: ScheduleId, from: i64, to: i64, count: i64, reason: SkipReason) -> Skip {
    Skip { schedule, from: at(from), to: at(to), count, reason }
}

fn note(desk: &mut Desk<'_>, skip: Skip, joins: bool) {
    let mut batch = desk.batch();
    batch.skips.push(NewSkip { skip, joins });
    desk.store.commit(&batch).unwrap();
}

fn pause(
    desk: &mut Desk<'_>,
    schedule: ScheduleId,
    paused: bool,
    when: i64,
) -> Result<(), CommitError> {
    let mut batch = desk.batch();
    batch.pauses.push(Pause { schedule, paused, at: at(when) });
    desk.store.commit(&batch)
}

/// A timed run of `flights`, changed before it is committed.
fn fire(
    desk: &mut Desk<'_>,
    nominal: i64,
    change: impl Fn(&mut RunRow),
) -> Result<CreatedRun, CommitError> {
    let ids = desk.store.next_ids().unwrap();
    let mut run = new_run(&desk.dag, desk.lease, ids, nominal);
    run.row.timed = true;
    change(&mut run.row);
    let mut batch = desk.batch();
    batch.created.push(run.clone());
    desk.store.commit(&batch).map(|()| run)
}

pub fn a_watermark_moves_on_from_where_it_was(store: &mut dyn Store) {
    let (mut desk, id) = open(store);
    advance(&mut desk, id, &[(0, 10)]).unwrap();
    assert_eq!(stored(&mut desk).watermark, at(10));
    conflict(advance(&mut desk, id, &[(0, 20)]), id);
    conflict(advance(&mut desk, id, &[(10, 10)]), id);
    conflict(advance(&mut desk, id, &[(10, 5)]), id);
    conflict(advance(&mut desk, ScheduleId(99), &[(10, 11)]), ScheduleId(99));
    // All or nothing.
    conflict(advance(&mut desk, id, &[(10, 15), (10, 20)]), id);
    assert_eq!(stored(&mut desk).watermark, at(10));
    advance(&mut desk, id, &[(10, 15), (15, 20)]).unwrap();
    assert_eq!(stored(&mut desk).watermark, at(20));
    // No registration moves it.
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 3 * * *")];
    desk.store.register(&[def], at(30)).unwrap();
    assert_eq!(stored(&mut desk).watermark, at(20));
}

/// Whoever decided by an old rule while somebody edited, paused or removed is told to look again.
pub fn a_watermark_is_refused_that_was_decided_of_an_older_schedule(store: &mut dyn Store) {
    let (mut desk, id) = open(store);
    let seen = stored(&mut desk).changed_at;
    assert_eq!(seen, at(0));
    advance_if(&mut desk, id, &[(0, 5)], seen).unwrap();
    assert_eq!(stored(&mut desk).changed_at, at(0), "coming further is no change");
    let mut edited = flights();
    edited.schedules = vec![schedule("default", "0 3 * * *")];
    let register = |desk: &mut Desk<'_>, now| {
        desk.store.register(std::slice::from_ref(&edited), at(now)).unwrap();
    };
    register(&mut desk, 10);
    conflict(advance_if(&mut desk, id, &[(5, 12)], at(0)), id);
    assert_eq!(stored(&mut desk).watermark, at(5));
    assert_eq!(stored(&mut desk).changed_at, at(10));
    // The same definition again changes nothing.
    register(&mut desk, 11);
    advance_if(&mut desk, id, &[(5, 12)], at(10)).unwrap();

    pause(&mut desk, id, true, 20).unwrap();
    conflict(advance_if(&mut desk, id, &[(12, 22)], at(10)), id);
    pause(&mut desk, id, false, 30).unwrap();
    conflict(advance_if(&mut desk, id, &[(12, 22)], at(20)), id);
    // In one batch: it fires, and is paused after that.
    let mut batch = desk.batch();
    let (from, to, changed_at) = (at(12), at(31), at(30));
    batch.watermarks.push(Watermark { schedule: id, from, to, changed_at });
    batch.pauses.push(Pause { schedule: id, paused: true, at: at(31) });
    desk.store.commit(&batch).unwrap();
    assert_eq!(stored(&mut desk).changed_at, at(31));

    desk.store.remove_dags(&["flights".to_owned()], at(40)).unwrap();
    conflict(advance_if(&mut desk, id, &[(31, 50)], at(31)), id);
    advance_if(&mut desk, id, &[(31, 50)], at(40)).unwrap();
}

pub fn what_lies_behind_the_watermark_is_not_told(store: &mut dyn Store) {
    let (mut desk, id) = open(store);
    let rule = stored(&mut desk).def.rule;
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 3 * * *")];
    let late = def.schedules[0].rule.clone();
    desk.store.register(&[def], at(10)).unwrap();
    let active = PeriodKind::Active;
    let first = Period { from: at(0), until: Some(at(10)), kind: active, rule };
    let second = Period { from: at(10), until: None, kind: active, rule: late };
    // A period's end is its own: up to there its fires are covered.
    advance(&mut desk, id, &[(0, 9)]).unwrap();
    assert_eq!(stored(&mut desk).periods, [first, second.clone()]);
    advance(&mut desk, id, &[(9, 10)]).unwrap();
    assert_eq!(stored(&mut desk).periods, [second]);
    // Removed, it is told until it came to its end.
    desk.store.register(&[flights()], at(20)).unwrap();
    advance(&mut desk, id, &[(10, 19)]).unwrap();
    assert_eq!(stored(&mut desk).id, id);
    advance(&mut desk, id, &[(19, 20)]).unwrap();
    assert_eq!(desk.store.schedules(desk.dag.id).unwrap(), []);
    assert_eq!(desk.store.verify().unwrap(), []);
}

pub fn skips_are_noted_joined_and_told(store: &mut dyn Store) {
    use SkipReason::{Missed, Overlap, Paused};
    let (mut desk, id) = open(store);
    note(&mut desk, skip(id, 10, 20, 2, Missed), true);
    note(&mut desk, skip(id, 30, 30, 1, Missed), true);
    note(&mut desk, skip(id, 40, 40, 1, Overlap), true);
    // It does not reach over another reason.
    note(&mut desk, skip(id, 50, 60, 2, Missed), true);
    note(&mut desk, skip(id, 70, 70, 1, Missed), false);
    note(&mut desk, skip(id, 80, 90, 2, Missed), true);
    let all = [
        skip(id, 70, 90, 3, Missed),
        skip(id, 50, 60, 2, Missed),
        skip(id, 40, 40, 1, Overlap),
        skip(id, 10, 30, 3, Missed),
    ];
    let dag = desk.dag.id;
    assert_eq!(desk.store.skips(dag, 10).unwrap(), all);
    assert_eq!(desk.store.skips(dag, 2).unwrap(), all[..2]);
    assert_eq!(desk.store.skips(mainspring::model::DagId(99), 2).unwrap(), []);
    let ahead = |pairs: &[(i64, i64)]| -> Vec<(Instant, Instant)> {
        pairs.iter().map(|(from, to)| (at(*from), at(*to))).collect()
    };
    let found = stored(&mut desk);
    assert_eq!(found.ahead, ahead(&[(10, 30), (40, 40), (50, 60), (70, 90)]));
    assert_eq!(found.last_skip, None);
    advance(&mut desk, id, &[(0, 40)]).unwrap();
    let found = stored(&mut desk);
    assert_eq!((found.ahead, found.last_skip), (ahead(&[(50, 60), (70, 90)]), Some(Overlap)));
    advance(&mut desk, id, &[(40, 55)]).unwrap();
    let found = stored(&mut desk);
    assert_eq!((found.ahead, found.last_skip), (ahead(&[(50, 60), (70, 90)]), None));
    // What is skipped earlier than all that is known begins a record of its own.
    note(&mut desk, skip(id, 5, 6, 2, Paused), true);
    assert_eq!(desk.store.skips(dag, 10).unwrap().last().unwrap(), &skip(id, 5, 6, 2, Paused));
    assert_eq!(desk.store.verify().unwrap(), []);
}

pub fn a_pause_is_a_period(store: &mut dyn Store) {
    let (mut desk, id) = open(store);
    let rule = stored(&mut desk).def.rule;
    let period = |from, until: Option<i64>, kind| Period {
        from: at(from),
        until: until.map(at),
        kind,
        rule: rule.clone(),
    };
    pause(&mut desk, id, false, 5).unwrap();
    assert_eq!(stored(&mut desk).periods, [period(0, None, PeriodKind::Active)]);
    pause(&mut desk, id, true, 10).unwrap();
    pause(&mut desk, id, true, 15).unwrap();
    let first = period(0, Some(10), PeriodKind::Active);
    let found = stored(&mut desk);
    assert!(found.def.paused);
    assert_eq!(found.periods, [first.clone(), period(10, None, PeriodKind::Paused)]);
    let dag = desk.store.dag("flights").unwrap().unwrap();
    assert!(dag.schedules[0].1.paused);
    assert_eq!(dag.revision, desk.dag.revision + 1);
    // The file does not undo it, and an edit goes on with it.
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *")];
    assert_eq!(desk.store.register(std::slice::from_ref(&def), at(20)).unwrap(), [dag]);
    def.schedules[0].rule.expression = "0 3 * * *".into();
    desk.store.register(std::slice::from_ref(&def), at(20)).unwrap();
    let found = stored(&mut desk);
    let late = def.schedules[0].rule.clone();
    let second = period(10, Some(20), PeriodKind::Paused);
    let third = Period { rule: late.clone(), ..period(20, None, PeriodKind::Paused) };
    assert_eq!(found.periods, [first.clone(), second.clone(), third]);
    // Removed and back it is paused as before.
    desk.store.register(&[flights()], at(30)).unwrap();
    conflict(pause(&mut desk, id, false, 35), id);
    desk.store.register(&[def], at(40)).unwrap();
    let kinds: Vec<_> = stored(&mut desk).periods.iter().map(|each| each.kind).collect();
    assert_eq!(kinds[2..], [PeriodKind::Paused, PeriodKind::Removed, PeriodKind::Paused]);
    pause(&mut desk, id, false, 50).unwrap();
    let last = stored(&mut desk).periods.pop().unwrap();
    assert_eq!(last, Period { rule: late, ..period(50, None, PeriodKind::Active) });
    conflict(pause(&mut desk, ScheduleId(99), true, 50), ScheduleId(99));
    assert_eq!(desk.store.verify().unwrap(), []);
}

pub fn a_timed_run_is_one_of_its_target_and_values(store: &mut dyn Store) {
    let (mut desk, _) = open(store);
    let (fetch, load) = (desk.dag.tasks[0].task_id, desk.dag.tasks[2].task_id);
    let first = fire(&mut desk, 0, |_| ()).unwrap();
    fire(&mut desk, 60, |_| ()).unwrap();
    fire(&mut desk, 0, |row| row.task_id = Some(fetch)).unwrap();
    let own = fire(&mut desk, 0, |row| row.task_id = Some(load)).unwrap();
    let special = fire(&mut desk, 0, |row| {
        row.task_id = Some(load);
        row.variant = "00ff".into();
    })
    .unwrap();
    for made in [&first, &own, &special] {
        let again = fire(&mut desk, 0, |row| {
            row.task_id = made.row.task_id;
            row.variant = made.row.variant.clone();
        });
        match again {
            Err(CommitError::RunExists { run, key }) => {
                assert_eq!(run, made.row.id);
                let target = Target { dag: desk.dag.id, task: made.row.task_id };
                let variant = made.row.variant.clone();
                assert_eq!(*key, TimedKey { target, nominal_at: at(0), variant });
            }
            other => panic!("{other:?}"),
        }
    }
    let stored = desk.store.stored_run(special.row.id).unwrap().unwrap();
    assert_eq!(stored.row, special.row);
    let filter = RunFilter { id: Some(special.row.id), ..Default::default() };
    assert_eq!(desk.store.runs(&filter).unwrap()[0].row, special.row);
    assert_eq!(desk.store.verify().unwrap(), []);
}

pub fn one_batch_makes_a_timed_run_once(store: &mut dyn Store) {
    let (mut desk, _) = open(store);
    let mut ids = desk.store.next_ids().unwrap();
    let mut batch = desk.batch();
    for nominal in [0, 60, 0] {
        let mut run = new_run(&desk.dag, desk.lease, ids, nominal);
        run.row.timed = true;
        ids.run += 1;
        ids.task_run += i64::from(run.row.task_count);
        batch.created.push(run);
    }
    let (first, key) = (batch.created[0].row.id, batch.created[0].row.timed_key().unwrap());
    match desk.store.commit(&batch) {
        Err(CommitError::RunExists { run, key: found }) => assert_eq!((run, *found), (first, key)),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.store.runs(&RunFilter::default()).unwrap(), []);
    batch.created.pop();
    desk.store.commit(&batch).unwrap();
    assert_eq!(desk.store.runs(&RunFilter::default()).unwrap().len(), 2);
    assert_eq!(desk.store.next_ids().unwrap().run, 3);
    let _ = &mut desk;
}

/// What is linked is seen by what contradicts it.
pub fn a_run_knows_the_schedules_it_comes_from(store: &mut dyn Store) {
    let (mut desk, id) = open(store);
    let ids = desk.store.next_ids().unwrap();
    let mut run = new_run(&desk.dag, desk.lease, ids, 10);
    run.row.timed = true;
    run.row.schedule_id = Some(id);
    run.schedules = vec![id, id];
    let mut batch = desk.batch();
    batch.created.push(run.clone());
    desk.store.commit(&batch).unwrap();
    let linked = fire(&mut desk, 20, |_| ()).unwrap();
    assert_eq!(desk.store.verify().unwrap(), []);
    note(&mut desk, skip(id, 10, 20, 2, SkipReason::Missed), false);
    let rows = |desk: &mut Desk<'_>| {
        let found = desk.store.verify().unwrap();
        assert!(found.iter().all(|each| each.invariant == "U2"), "{found:?}");
        found.iter().map(|each| each.rows.len()).sum::<usize>()
    };
    assert_eq!(rows(&mut desk), 1);
    // Once more is as good as once.
    for _ in 0..2 {
        let mut batch = desk.batch();
        batch.links = vec![(linked.row.id, id), (run.row.id, id)];
        desk.store.commit(&batch).unwrap();
    }
    assert_eq!(rows(&mut desk), 2);
}
