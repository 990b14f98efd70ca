//! Writing batches.

use mainspring::engine::RunMove;
use mainspring::model::{Date, Outcome, RunState, State, StopReason};
use mainspring::store::{AttemptFilter, RunFilter, Store, StoredResult};

use crate::store::support::{Desk, at, dag, ended, task};

pub fn a_run_is_read_back_as_it_was_written(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.row, run.row);
    assert_eq!(stored.task_runs, run.task_runs);
    assert!(!stored.cancel_requested);

    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.task_runs, run.task_runs);
    assert_eq!(stored.leases.len(), 1);
    assert_eq!(stored.leases[0].task_run_id, run.task_runs[0].id);

    let mut batch = desk.batch();
    desk.end(&mut batch, &mut run, 0, 9);
    batch.run_moves.push(RunMove {
        run: run.row.id,
        from: RunState::Running,
        to: RunState::Canceled,
        finished_at: Some(at(9)),
        cancel_requested: true,
    });
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.task_runs, run.task_runs);
    assert!(stored.leases.is_empty() && stored.cancel_requested);
    assert_eq!(stored.row.finished_at, Some(at(9)));
    assert_eq!(desk.store.journal(run.row.id).unwrap().len(), 2);
    let result = desk.store.result(run.task_runs[0].id).unwrap();
    assert_eq!(result, Some(StoredResult::Text("42".into())));
    let attempts = desk.store.attempts(&AttemptFilter::Run(run.row.id)).unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].finished_at, Some(at(9)));
    let views = desk.store.task_runs(run.row.id).unwrap();
    assert_eq!(
        views.iter().map(|view| view.task.as_str()).collect::<Vec<_>>(),
        ["fetch", "clean", "load"]
    );
    let runs = desk.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].counts.iter().map(|(_, n)| n).sum::<u32>(), 3);
}

pub fn an_attempt_may_begin_where_another_one_ends(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let id = run.task_runs[0].id;
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    desk.store.commit(&batch).unwrap();
    let token = run.task_runs[0].progress.token;
    run.task_runs[0].progress.state = State::RetryWait;
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 9);
    batch.ends.push(ended(id, 1, token, Outcome::Failed, 8));
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.leases.iter().map(|lease| lease.attempt_no).collect::<Vec<_>>(), [2]);
    let attempts = desk.store.attempts(&AttemptFilter::TaskRun(id)).unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|row| (row.start.attempt_no, row.outcome)).collect();
    assert_eq!(outcomes, [(1, Some(Outcome::Failed)), (2, None)]);
}

pub fn an_attempt_may_begin_and_end_in_one_batch(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    batch.progressed.clear();
    desk.end(&mut batch, &mut run, 0, 6);
    batch.progressed[0].expected_revision = 0;
    batch.ends[0].released = false;
    batch.releases.push(run.task_runs[0].id);
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert!(stored.leases.is_empty());
    assert_eq!(stored.task_runs, run.task_runs);
}

pub fn a_lease_stays_until_the_thread_is_gone(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    desk.end(&mut batch, &mut run, 0, 9);
    batch.ends[0].released = false;
    desk.store.commit(&batch).unwrap();
    assert_eq!(desk.store.stored_run(run.row.id).unwrap().unwrap().leases.len(), 1);
    let mut batch = desk.batch();
    batch.releases.push(run.task_runs[0].id);
    desk.store.commit(&batch).unwrap();
    assert!(desk.store.stored_run(run.row.id).unwrap().unwrap().leases.is_empty());
}

pub fn stale_marks_and_stops_are_kept(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    batch.stops.push((run.task_runs[0].id, StopReason::Cancel));
    batch.stale.push(run.task_runs[2].id);
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.leases[0].stop_reason, Some(StopReason::Cancel));
    let stale: Vec<bool> = stored.task_runs.iter().map(|row| row.progress.stale).collect();
    assert_eq!(stale, [false, false, true]);
}

pub fn runs_are_found_by_what_they_are(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let first = desk.create(0).row.id;
    let second = desk.create(60).row.id;
    desk.store.register(&[dag("other", vec![task("only", &[])])], at(0)).unwrap();
    let mut found = |filter: RunFilter| {
        let runs = desk.store.runs(&filter).unwrap();
        runs.into_iter().map(|run| run.row.id).collect::<Vec<_>>()
    };
    let date = |text| Date::parse(text).ok();
    assert_eq!(found(RunFilter::default()), [second, first]);
    assert_eq!(found(RunFilter { limit: Some(1), ..Default::default() }), [second]);
    assert_eq!(found(RunFilter { id: Some(first), ..Default::default() }), [first]);
    assert_eq!(found(RunFilter { dag: Some("other".into()), ..Default::default() }), []);
    assert_eq!(found(RunFilter { dag: Some("flights".into()), ..Default::default() }).len(), 2);
    assert_eq!(found(RunFilter { dag: Some("nobody".into()), ..Default::default() }), []);
    let states = vec![RunState::Failed, RunState::Success];
    assert_eq!(found(RunFilter { states, ..Default::default() }), []);
    let states = vec![RunState::Failed, RunState::Running];
    assert_eq!(found(RunFilter { states, ..Default::default() }).len(), 2);
    let day = date("2024-01-14");
    let on = RunFilter { biz_date_from: day, biz_date_to: day, ..Default::default() };
    assert_eq!(found(on).len(), 2);
    let later = RunFilter { biz_date_from: date("2024-01-15"), ..Default::default() };
    assert_eq!(found(later), []);
}
