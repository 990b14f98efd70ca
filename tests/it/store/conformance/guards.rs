//! What is refused, and that nothing of it is written.

use mainspring::engine::RunMove;
use mainspring::model::{Outcome, RunState, Token};
use mainspring::store::{Changed, CommitError, NextIds, Store};

use crate::store::support::{Desk, at, ended, new_run};

pub fn a_batch_of_another_epoch_is_fenced(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = desk.create(0);
    let before = desk.store.stored_run(run.row.id).unwrap();
    let mut batch = desk.batch();
    batch.lease.epoch += 1;
    batch.stale.push(run.task_runs[0].id);
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::Fenced)));
    assert_eq!(desk.store.stored_run(run.row.id).unwrap(), before);
}

pub fn ids_that_are_taken_are_refused_and_named(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let ids = desk.store.next_ids().unwrap();
    assert_eq!(ids, NextIds { run: 1, task_run: 1 });
    let late = new_run(&desk.dag, desk.lease, ids, 60);
    desk.create(0);
    let mut batch = desk.batch();
    batch.expected = Some(ids);
    batch.created.push(late);
    let Err(CommitError::IdsMoved(next)) = desk.store.commit(&batch) else {
        panic!("taken ids were accepted");
    };
    assert_eq!(next, NextIds { run: 2, task_run: 4 });
    assert_eq!(desk.store.next_ids().unwrap(), next);
    batch.expected = None;
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::IdsMoved(_))));
}

pub fn a_timed_run_is_made_once(store: &mut dyn Store) {
    let desk = Desk::open(store);
    let mut make = |timed: bool| {
        let ids = desk.store.next_ids().unwrap();
        let mut run = new_run(&desk.dag, desk.lease, ids, 0);
        run.row.timed = timed;
        let mut batch = desk.batch();
        batch.created.push(run.clone());
        desk.store.commit(&batch).map(|()| run.row.id)
    };
    make(false).unwrap();
    let first = make(true).unwrap();
    make(false).unwrap();
    match make(true) {
        Err(CommitError::RunExists { run, .. }) => assert_eq!(run, first),
        other => panic!("{other:?}"),
    }
}

pub fn a_task_run_that_changed_is_refused(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    batch.progressed[0].expected_revision = 7;
    let what = Changed::TaskRun(run.task_runs[0].id);
    match desk.store.commit(&batch) {
        Err(CommitError::Conflict { what: found }) => assert_eq!(found, what),
        other => panic!("{other:?}"),
    }
}

pub fn an_attempt_ends_once_and_with_its_token(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let id = run.task_runs[0].id;
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut run, 0, 5);
    desk.store.commit(&batch).unwrap();
    let token = run.task_runs[0].progress.token;
    let mut end = |no, token| {
        let mut batch = desk.batch();
        batch.ends.push(ended(id, no, token, Outcome::Success, 9));
        desk.store.commit(&batch)
    };
    let refused = |answer: Result<(), CommitError>, no| match answer {
        Err(CommitError::Conflict { what }) => assert_eq!(what, Changed::Attempt(id, no)),
        other => panic!("{other:?}"),
    };
    refused(end(1, Token(token.0 + 1)), 1);
    refused(end(2, token), 2);
    end(1, token).unwrap();
    refused(end(1, token), 1);
    // The same attempt does not begin twice either.
    let mut again = desk.batch();
    again.starts = batch.starts.clone();
    refused(desk.store.commit(&again), 1);
}

pub fn a_refused_batch_writes_nothing(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let before = desk.store.stored_run(run.row.id).unwrap();
    let ids = desk.store.next_ids().unwrap();
    let mut batch = desk.batch();
    batch.created.push(new_run(&desk.dag, desk.lease, ids, 60));
    desk.start(&mut batch, &mut run, 0, 5);
    // The last of all checks fails.
    batch.run_moves.push(RunMove {
        run: run.row.id,
        from: RunState::Failed,
        to: RunState::Running,
        finished_at: None,
        cancel_requested: false,
    });
    assert!(desk.store.commit(&batch).is_err());
    assert_eq!(desk.store.stored_run(run.row.id).unwrap(), before);
    assert_eq!(desk.store.next_ids().unwrap(), ids);
    assert!(desk.store.journal(run.row.id).unwrap().is_empty());
    batch.run_moves.clear();
    desk.store.commit(&batch).unwrap();
}

pub fn a_pool_is_never_overfull(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    desk.store.set_pool("db", 2, at(0)).unwrap();
    let mut run = desk.create(0);
    let mut start = |desk: &mut Desk<'_>, index: usize, slots| {
        let mut changed = run.clone();
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut changed, index, 5);
        batch.starts[0].slots = slots;
        batch.starts[0].pool = Some("db".into());
        desk.store.commit(&batch)?;
        run = changed;
        Ok(())
    };
    start(&mut desk, 0, 1).unwrap();
    match start(&mut desk, 1, 2) {
        Err(CommitError::PoolFull { pool, free }) => assert_eq!((pool.as_str(), free), ("db", 1)),
        other => panic!("{other:?}"),
    }
    start(&mut desk, 1, 1).unwrap();
    assert_eq!(desk.store.pools().unwrap()["db"], (2, 2));
    // A pool that shrank lets what runs go on, and takes nothing new.
    desk.store.set_pool("db", 1, at(1)).unwrap();
    assert!(matches!(start(&mut desk, 2, 1), Err(CommitError::PoolFull { free: 0, .. })));
    let mut batch = desk.batch();
    batch.releases.extend([run.task_runs[0].id, run.task_runs[1].id]);
    desk.store.commit(&batch).unwrap();
    // What is wider than the pool runs alone.
    let mut start = |index: usize, slots| {
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, index, 5);
        batch.starts[0].slots = slots;
        batch.starts[0].pool = Some("db".into());
        desk.store.commit(&batch)
    };
    start(2, 5).unwrap();
}

/// A probe or a gate: it may begin where all slots are taken, and beside what is wider than the pool.
pub fn what_takes_no_slot_is_in_no_pools_way(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    desk.store.set_pool("db", 1, at(0)).unwrap();
    let mut run = desk.create(0);
    let mut start = |index: usize, slots| {
        let mut batch = desk.batch();
        desk.start(&mut batch, &mut run, index, 5);
        batch.starts[0].slots = slots;
        batch.starts[0].pool = Some("db".into());
        desk.store.commit(&batch)
    };
    start(0, 0).unwrap();
    start(1, 5).unwrap();
    start(2, 0).unwrap();
    assert_eq!(desk.store.pools().unwrap()["db"], (1, 5));
    assert!(desk.store.verify().unwrap().iter().all(|found| found.invariant != "O2"));
}

pub fn a_run_that_changed_is_refused(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let run = desk.create(0);
    let mut move_run = |from, to, finished_at| {
        let mut batch = desk.batch();
        let cancel_requested = true;
        batch.run_moves.push(RunMove { run: run.row.id, from, to, finished_at, cancel_requested });
        desk.store.commit(&batch)
    };
    move_run(RunState::Running, RunState::Failed, Some(at(9))).unwrap();
    match move_run(RunState::Running, RunState::Success, Some(at(9))) {
        Err(CommitError::Conflict { what }) => assert_eq!(what, Changed::Run(run.row.id)),
        other => panic!("{other:?}"),
    }
}
