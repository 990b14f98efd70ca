//! Limits that processes share, queues that age, and what is watched for its time.

use std::collections::BTreeMap;

use mainspring::engine::RunMove;
use mainspring::model::{Claim, RunState, State};
use mainspring::store::{CommitError, PastDeadline, Progressed, Store};

use crate::store::support::{Desk, at};

fn claim(limit: &str, slots: u32, most: Option<u32>) -> Claim {
    Claim { limit: limit.into(), slots, most }
}

/// Starts the task run with this index, which takes this of a limit.
fn start(
    desk: &mut Desk<'_>,
    run: &mut mainspring::store::CreatedRun,
    index: usize,
    claims: &[Claim],
) -> Result<(), CommitError> {
    let mut changed = run.clone();
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut changed, index, 5);
    batch.starts[0].limits = claims.to_vec();
    desk.store.commit(&batch)?;
    *run = changed;
    Ok(())
}

fn full(refused: Result<(), CommitError>) -> (String, u32) {
    match refused {
        Err(CommitError::LimitFull { limit, free }) => (limit, free),
        other => panic!("{other:?}"),
    }
}

pub fn a_limit_is_never_overfull(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    desk.store.set_limit("api", 3, at(0)).unwrap();
    desk.store.set_limit("other", 1, at(0)).unwrap();
    let mut run = desk.create(0);
    let both = [claim("api", 2, None), claim("other", 1, None)];
    start(&mut desk, &mut run, 0, &both).unwrap();
    let refused = start(&mut desk, &mut run, 1, &[claim("api", 2, None)]);
    assert_eq!(full(refused), ("api".into(), 1));
    start(&mut desk, &mut run, 1, &[claim("api", 1, None)]).unwrap();
    let limits = BTreeMap::from([("api".into(), (3, 3)), ("other".into(), (1, 1))]);
    assert_eq!(desk.store.limits().unwrap(), limits);
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    let held: Vec<_> = stored.leases.iter().map(|lease| lease.limits.clone()).collect();
    let of = |pairs: &[(&str, u32)]| {
        pairs.iter().map(|(name, slots)| ((*name).to_owned(), *slots)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(held, [of(&[("api", 2), ("other", 1)]), of(&[("api", 1)])]);
    // One that shrank lets what runs go on, and takes nothing new.
    desk.store.set_limit("api", 1, at(1)).unwrap();
    assert_eq!(full(start(&mut desk, &mut run, 2, &[claim("api", 1, None)])).1, 0);
    let mut batch = desk.batch();
    batch.releases.extend([run.task_runs[0].id, run.task_runs[1].id]);
    desk.store.commit(&batch).unwrap();
    // What is wider than the limit runs alone; what nobody has made has no slots for two.
    start(&mut desk, &mut run, 2, &[claim("api", 5, None)]).unwrap();
    assert_eq!(desk.store.limits().unwrap()["api"], (1, 5));
    assert!(desk.store.verify().unwrap().iter().all(|violation| violation.invariant != "O3"));
}

pub fn a_task_is_never_more_active_than_it_may_be(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let own = [claim("task:7", 1, Some(2))];
    start(&mut desk, &mut run, 0, &own).unwrap();
    start(&mut desk, &mut run, 1, &own).unwrap();
    assert_eq!(full(start(&mut desk, &mut run, 2, &own)), ("task:7".into(), 0));
    assert_eq!(desk.store.limits().unwrap(), BTreeMap::new());
}

pub fn a_pool_may_age(store: &mut dyn Store) {
    let desk = Desk::open(store);
    desk.store.set_ageing("db", Some(60_000)).unwrap();
    assert_eq!(desk.store.ageing().unwrap(), BTreeMap::new());
    desk.store.set_pool("db", 2, at(0)).unwrap();
    desk.store.set_pool("web", 2, at(0)).unwrap();
    desk.store.set_ageing("db", Some(60_000)).unwrap();
    // Another size does not change the order.
    desk.store.set_pool("db", 3, at(1)).unwrap();
    assert_eq!(desk.store.ageing().unwrap(), BTreeMap::from([("db".into(), 60_000)]));
    desk.store.set_ageing("db", None).unwrap();
    assert_eq!(desk.store.ageing().unwrap(), BTreeMap::new());
}

pub fn a_deadline_is_noted_and_told_once(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut run = desk.create(0);
    let mut batch = desk.batch();
    let row = &mut run.task_runs[0];
    row.progress.revision += 1;
    row.progress.deadline_at = Some(at(10));
    let (id, progress) = (row.id, row.progress.clone());
    batch.progressed.push(Progressed { id, expected_revision: 0, progress });
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    let canceled = false;
    let (run, deadline_at) = (run.row.id, at(10));
    batch.overdue.push(PastDeadline { id, run, deadline_at, when: at(11), canceled });
    desk.store.commit(&batch).unwrap();
    // It may have been durable although its commit failed.
    batch.overdue[0].when = at(12);
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.stored_run(run).unwrap().unwrap();
    let p = &stored.task_runs[0].progress;
    assert_eq!((p.deadline_at, p.overdue_at), (Some(at(10)), Some(at(11))));
    assert_eq!(stored.task_runs[1].progress.overdue_at, None);
}

pub fn runs_that_wait_for_time_alone_are_found(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let (mut blocked, plain) = (desk.create(0), desk.create(60));
    for (run, until) in [(&mut blocked, Some(at(99))), (&mut plain.clone(), None)] {
        let mut batch = desk.batch();
        let row = &mut run.task_runs[0];
        row.progress.revision += 1;
        row.progress.state = State::Blocked;
        row.progress.blocked_until = until;
        let (id, progress) = (row.id, row.progress.clone());
        batch.progressed.push(Progressed { id, expected_revision: 0, progress });
        batch.run_moves.push(RunMove {
            run: run.row.id,
            from: RunState::Running,
            to: RunState::Failed,
            finished_at: Some(at(9)),
            cancel_requested: false,
        });
        desk.store.commit(&batch).unwrap();
    }
    assert_eq!(desk.store.open_runs(desk.lease.scope_id).unwrap(), [blocked.row.id]);
}
