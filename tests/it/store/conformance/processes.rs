//! Nodes, scopes and who may write.

use mainspring::model::{NodeId, ScopeId};
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
