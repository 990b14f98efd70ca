//! Writing batches.

use mainspring::engine::RunMove;
use mainspring::model::RunState;
use mainspring::store::{AttemptFilter, CommitError, RunFilter, Store};

use crate::store::support::{Desk, at};

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
    assert_eq!(desk.store.result(run.task_runs[0].id).unwrap().as_deref(), Some("42"));
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

pub fn a_batch_of_another_epoch_is_fenced(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = desk.create(0);
    let before = desk.store.stored_run(run.row.id).unwrap();
    let mut batch = desk.batch();
    batch.lease.epoch += 1;
    batch.releases.push(run.task_runs[0].id);
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::Fenced)));
    assert_eq!(desk.store.stored_run(run.row.id).unwrap(), before);
}
