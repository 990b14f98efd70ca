//! Nodes, scopes and who may write.

use mainspring::model::{NodeId, RunId, RunState, ScopeId};
use mainspring::store::{Changed, CommitError, Store};

use crate::store::support::{Desk, at, node};

pub fn a_process_joins_beats_and_leaves(store: &mut dyn Store) {
    let first = store.join(&node(1)).unwrap();
    let second = store.join(&node(2)).unwrap();
    assert_ne!(first.scope_id, second.scope_id);
    assert_eq!(store.holder(first.scope_id).unwrap(), Some(first));
    assert_eq!(store.holder(ScopeId(99)).unwrap(), None);
    assert_eq!(store.node(NodeId(99)).unwrap(), None);

    store.heartbeat(first, at(5), at(20)).unwrap();
    let row = store.node(first.node_id).unwrap().unwrap();
    assert_eq!((row.pid, row.heartbeat_at, row.lease_until), (1, at(5), at(20)));
    let mut stranger = first;
    stranger.node_id = second.node_id;
    assert!(matches!(store.heartbeat(stranger, at(6), at(21)), Err(CommitError::Fenced)));

    store.leave(first, at(7)).unwrap();
    store.leave(first, at(8)).unwrap();
    let row = store.node(first.node_id).unwrap().unwrap();
    assert_eq!((row.stopped_at, row.lease_until), (Some(at(7)), at(7)));
    assert_eq!(store.node(second.node_id).unwrap().unwrap().stopped_at, None);
}

pub fn a_run_is_taken_over_and_its_old_holder_is_fenced(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let old = desk.lease;
    let (first, second) = (desk.create(0), desk.create(60));
    let new = desk.store.join(&node(2)).unwrap();
    desk.store.take_over(first.row.id, old.scope_id, new, at(30)).unwrap();
    let row = desk.store.stored_run(first.row.id).unwrap().unwrap().row;
    assert_eq!(row.scope_id, new.scope_id);
    assert!(matches!(desk.store.heartbeat(old, at(31), at(46)), Err(CommitError::Fenced)));
    match desk.store.take_over(first.row.id, old.scope_id, new, at(31)) {
        Err(CommitError::Conflict { what }) => assert_eq!(what, Changed::Run(first.row.id)),
        other => panic!("{other:?}"),
    }
    desk.store.take_over(second.row.id, old.scope_id, new, at(32)).unwrap();
    let held = desk.store.holder(old.scope_id).unwrap().unwrap();
    assert_eq!((held.epoch, held.node_id), (old.epoch + 1, new.node_id));
    assert_eq!(desk.store.holder(new.scope_id).unwrap(), Some(new));
}

pub fn one_node_at_a_time_leads(store: &mut dyn Store) {
    let (one, two) = (store.join(&node(1)).unwrap(), store.join(&node(2)).unwrap());
    assert_eq!(store.scope_named("fires").unwrap(), None);
    let first = store.lead("fires", one.node_id, None, at(1)).unwrap();
    assert_eq!((first.epoch, first.node_id), (1, one.node_id));
    assert!(first.scope_id != one.scope_id && first.scope_id != two.scope_id);
    assert_eq!(store.scope_named("fires").unwrap(), Some(first));
    assert_eq!(store.holder(first.scope_id).unwrap(), Some(first));
    // Who saw none comes too late.
    let late = store.lead("fires", two.node_id, None, at(2));
    assert!(matches!(late, Err(CommitError::Fenced)), "{late:?}");
    let second = store.lead("fires", two.node_id, Some(first), at(3)).unwrap();
    assert_eq!((second.scope_id, second.epoch), (first.scope_id, 2));
    assert_eq!(second.node_id, two.node_id);
    // Of two who saw the same one is refused, and the old holder writes no more.
    let late = store.lead("fires", one.node_id, Some(first), at(3));
    assert!(matches!(late, Err(CommitError::Fenced)), "{late:?}");
    assert!(matches!(store.heartbeat(first, at(4), at(19)), Err(CommitError::Fenced)));
    store.heartbeat(second, at(4), at(19)).unwrap();
    assert_eq!(store.node(two.node_id).unwrap().unwrap().lease_until, at(19));
    // The same node again is another term.
    let third = store.lead("fires", two.node_id, Some(second), at(5)).unwrap();
    assert_eq!((third.epoch, third.node_id), (3, two.node_id));
    assert!(matches!(store.heartbeat(second, at(6), at(21)), Err(CommitError::Fenced)));
    // What nobody made cannot be held; another name is another scope.
    let wrong = store.lead("other", one.node_id, Some(third), at(7));
    assert!(matches!(wrong, Err(CommitError::Fenced)), "{wrong:?}");
    let other = store.lead("other", one.node_id, None, at(8)).unwrap();
    assert_ne!(other.scope_id, third.scope_id);
    // A node that left leaves the scope to be taken.
    store.leave(two, at(9)).unwrap();
    assert_eq!(store.scope_named("fires").unwrap(), Some(third));
    assert!(store.node(third.node_id).unwrap().unwrap().stopped_at.is_some());
    assert_eq!(store.lead("fires", one.node_id, Some(third), at(10)).unwrap().epoch, 4);
}

pub fn the_open_runs_of_a_scope_are_found(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let (first, second, third) = (desk.create(0), desk.create(60), desk.create(120));
    let lease = desk.lease;
    let ids = |runs: &[&mainspring::store::CreatedRun]| -> Vec<RunId> {
        runs.iter().map(|run| run.row.id).collect()
    };
    assert_eq!(desk.store.open_runs(lease.scope_id).unwrap(), ids(&[&first, &second, &third]));
    let mut batch = desk.batch();
    batch.run_moves.push(mainspring::engine::RunMove {
        run: second.row.id,
        from: RunState::Running,
        to: RunState::Failed,
        finished_at: Some(at(9)),
        cancel_requested: false,
    });
    desk.store.commit(&batch).unwrap();
    let other = desk.store.join(&node(2)).unwrap();
    desk.store.take_over(third.row.id, lease.scope_id, other, at(30)).unwrap();
    assert_eq!(desk.store.open_runs(lease.scope_id).unwrap(), ids(&[&first]));
    assert_eq!(desk.store.open_runs(other.scope_id).unwrap(), ids(&[&third]));
    assert_eq!(desk.store.open_runs(ScopeId(99)).unwrap(), []);
}
