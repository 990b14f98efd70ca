//! Items of mapped tasks: task runs that are made after their run.

use mainspring::model::{Progress, REMOVED, State, TaskRunId, TaskRunRow};
use mainspring::store::{Batch, CommitError, CreatedRun, NextIds, Progressed, RunFilter, Store};

use crate::store::support::{Desk, at};

/// Items of the second task of a run.
fn items(run: &CreatedRun, first: i64, places: std::ops::Range<i32>) -> Vec<TaskRunRow> {
    let of = &run.task_runs[1];
    let from = places.start;
    places
        .map(|map_index| TaskRunRow {
            id: TaskRunId(first + i64::from(map_index - from)),
            map_index,
            created_at: at(7),
            progress: Progress {
                item: Some(format!("{{\"n\":{map_index}}}").into()),
                ..Progress::default()
            },
            ..of.clone()
        })
        .collect()
}

/// Makes items and commits them.
fn make(desk: &mut Desk<'_>, run: &CreatedRun, places: std::ops::Range<i32>) -> Vec<TaskRunRow> {
    let ids = desk.store.next_ids().unwrap();
    let rows = items(run, ids.task_run, places);
    let mut batch = desk.batch();
    batch.expected = Some(ids);
    batch.items.clone_from(&rows);
    desk.store.commit(&batch).unwrap();
    rows
}

/// A run whose second task is mapped.
fn mapped(desk: &mut Desk<'_>, nominal: i64) -> CreatedRun {
    let ids = desk.store.next_ids().unwrap();
    let mut run = crate::store::support::new_run(&desk.dag, desk.lease, ids, nominal);
    run.task_runs[1].map_index = -1;
    let mut batch = desk.batch();
    batch.created.push(run.clone());
    desk.store.commit(&batch).unwrap();
    run
}

fn change(desk: &mut Desk<'_>, row: &mut TaskRunRow, to: impl FnOnce(&mut Progress)) -> Batch {
    let expected_revision = row.progress.revision;
    to(&mut row.progress);
    row.progress.revision += 1;
    let mut batch = desk.batch();
    let (id, progress) = (row.id, row.progress.clone());
    batch.progressed.push(Progressed { id, expected_revision, progress });
    batch
}

pub fn items_are_read_back_after_what_the_plan_has(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = mapped(&mut desk, 0);
    let other = desk.create(60);
    let mut rows = make(&mut desk, &run, 0..3);
    assert_eq!(rows[0].id, TaskRunId(7), "after those of the other run");
    // What an item is given may become another when its list does.
    let batch = change(&mut desk, &mut rows[1], |progress| progress.item = Some("null".into()));
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    let all: Vec<TaskRunRow> = run.task_runs.iter().chain(&rows).cloned().collect();
    assert_eq!(stored.task_runs, all);
    assert_eq!(desk.store.stored_run(other.row.id).unwrap().unwrap().task_runs, other.task_runs);
    let views = desk.store.task_runs(run.row.id).unwrap();
    let places: Vec<_> = views.iter().map(|v| (v.task.as_str(), v.row.map_index)).collect();
    assert_eq!(
        places,
        [("fetch", 0), ("clean", -1), ("load", 0), ("clean", 0), ("clean", 1), ("clean", 2)]
    );
    let next = desk.store.next_ids().unwrap();
    assert_eq!(next, NextIds { run: 3, task_run: 10 });
}

pub fn items_of_several_runs_are_not_mixed_up(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let (one, two) = (mapped(&mut desk, 0), mapped(&mut desk, 60));
    let first = make(&mut desk, &one, 0..2);
    let second = make(&mut desk, &two, 0..1);
    let third = make(&mut desk, &one, 2..3);
    let ids = |desk: &mut Desk<'_>, run: &CreatedRun| {
        let rows = desk.store.stored_run(run.row.id).unwrap().unwrap().task_runs;
        rows.into_iter().skip(3).map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&mut desk, &one), [first[0].id, first[1].id, third[0].id]);
    assert_eq!(ids(&mut desk, &two), [second[0].id]);
}

pub fn ids_of_items_that_are_taken_are_refused(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = mapped(&mut desk, 0);
    let ids = desk.store.next_ids().unwrap();
    let mut batch = desk.batch();
    batch.expected = Some(ids);
    batch.items = items(&run, ids.task_run, 0..2);
    desk.create(60);
    let Err(CommitError::IdsMoved(next)) = desk.store.commit(&batch) else {
        panic!("taken ids were accepted");
    };
    assert_eq!(next, NextIds { run: 3, task_run: 7 });
    assert_eq!(desk.store.stored_run(run.row.id).unwrap().unwrap().task_runs, run.task_runs);
}

pub fn what_was_removed_is_not_counted(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = mapped(&mut desk, 0);
    let mut rows = make(&mut desk, &run, 0..2);
    let batch = change(&mut desk, &mut rows[1], |progress| {
        progress.state = State::Canceled;
        progress.finished_at = Some(at(9));
        progress.code = Some(REMOVED.into());
    });
    desk.store.commit(&batch).unwrap();
    let found = desk.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(found[0].counts, [(State::Pending, 4)]);
    let batch = change(&mut desk, &mut rows[0], |progress| {
        progress.state = State::Canceled;
        progress.finished_at = Some(at(9));
        progress.code = Some("CANCELED".into());
    });
    desk.store.commit(&batch).unwrap();
    let found = desk.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(found[0].counts, [(State::Pending, 3), (State::Canceled, 1)]);
}
