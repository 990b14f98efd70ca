//! Backfills: all places are there from the beginning, each has one run at most, and no cell of one
//! is open elsewhere when its run is made.

use std::sync::Arc;

use mainspring::model::{
    BackfillId, BackfillPlan, BackfillRow, BackfillRunRow, BackfillState, RunId, RunState, TaskId,
    Trigger, Unfilled, backfill_notes,
};
use mainspring::store::{
    BackfillMoved, Batch, CommitError, CreatedRun, InTheWay, RunFilter, Store,
};

use crate::store::support::{Desk, at, backfill_plan, new_run, node};

/// A plan of all tasks of the dag for some instants.
fn plan(desk: &Desk<'_>, hash: &str, nominals: &[i64]) -> BackfillPlan {
    backfill_plan(&desk.dag, hash, nominals)
}

fn row(desk: &mut Desk<'_>, plan: BackfillPlan) -> BackfillRow {
    BackfillRow {
        id: desk.store.next_backfill().unwrap(),
        plan: Arc::new(plan),
        state: BackfillState::Running,
        requested_by: Some("somebody".into()),
        created_at: at(1),
        finished_at: None,
        cancel_requested: false,
        scope_id: desk.lease.scope_id,
    }
}

fn begin(desk: &mut Desk<'_>, hash: &str, nominals: &[i64]) -> BackfillRow {
    let plan = plan(desk, hash, nominals);
    let row = row(desk, plan);
    let mut batch = desk.batch();
    batch.backfills.push(row.clone());
    desk.store.commit(&batch).unwrap();
    row
}

/// What makes the run of a place.
fn filling(desk: &mut Desk<'_>, row: &BackfillRow, ordinal: u32) -> (Batch, CreatedRun) {
    let ids = desk.store.next_ids().unwrap();
    let nominal = (row.plan.runs[ordinal as usize].nominal_at - at(0)) / 1_000_000;
    let mut run = new_run(&desk.dag, desk.lease, ids, nominal);
    run.row.backfill_id = Some(row.id);
    run.row.trigger = Trigger::Backfill;
    let mut batch = desk.batch();
    batch.expected = Some(ids);
    batch.created.push(run.clone());
    batch.filled.push(BackfillRunRow {
        backfill_id: row.id,
        ordinal,
        run_id: Some(run.row.id),
        note: None,
    });
    (batch, run)
}

fn note(row: &BackfillRow, ordinal: u32, note: &str) -> BackfillRunRow {
    BackfillRunRow { backfill_id: row.id, ordinal, run_id: None, note: Some(note.into()) }
}

pub fn a_backfill_is_read_back_with_all_its_places(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100, 200, 300]);
    let (batch, run) = filling(&mut desk, &known, 0);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    batch.filled.push(note(&known, 1, backfill_notes::NOT_STARTED));
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.backfill(known.id).unwrap().unwrap();
    assert_eq!(stored.row, known);
    let places: Vec<_> = (stored.places.iter())
        .map(|(place, state)| (place.ordinal, place.run_id, place.note.as_deref(), *state))
        .collect();
    let expected = [
        (0, Some(run.row.id), None, Some(RunState::Running)),
        (1, None, Some(backfill_notes::NOT_STARTED), None),
        (2, None, None, None),
    ];
    assert_eq!(places, expected);
    let cells = desk.store.backfill_cells(known.id).unwrap();
    assert_eq!(cells.len(), run.task_runs.len());
    assert!(cells.iter().all(|cell| cell.ordinal == 0));
    let listed = desk.store.backfills().unwrap().remove(0);
    assert_eq!((listed.id, listed.dag.as_str()), (known.id, "flights"));
    let counts: Vec<(&str, u32)> = listed.runs.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    let running = RunState::Running.as_str();
    assert_eq!(counts, [("", 1), (backfill_notes::NOT_STARTED, 1), (running, 1)]);
    assert_eq!(desk.store.open_backfills(desk.lease.scope_id).unwrap(), [known.id]);
    assert_eq!(desk.store.held_cells().unwrap().len(), 2 * run.task_runs.len());
    assert_eq!(desk.store.backfill(BackfillId(99)).unwrap(), None);
    let found = desk.store.runs(&RunFilter::default()).unwrap().remove(0);
    assert_eq!(found.row.backfill_id, Some(known.id));
}

pub fn a_place_has_one_run_at_most(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100]);
    let (batch, _) = filling(&mut desk, &known, 0);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    batch.filled.push(note(&known, 0, backfill_notes::NOT_STARTED));
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::Conflict { .. })));
    let mut batch = desk.batch();
    batch.filled.push(note(&known, 1, backfill_notes::NOT_STARTED));
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::Conflict { .. })));
}

pub fn a_plan_is_applied_once_and_beside_no_open_one(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100, 200]);
    let again = plan(&desk, "one", &[300]);
    assert_eq!(desk.store.in_the_way(&again).unwrap(), Some(InTheWay::Applied(known.id)));
    let beside = plan(&desk, "two", &[200, 300]);
    let found = desk.store.in_the_way(&beside).unwrap();
    assert!(matches!(found, Some(InTheWay::Overlaps { backfill, .. }) if backfill == known.id));
    for refused in [again, beside] {
        let row = row(&mut desk, refused);
        let mut batch = desk.batch();
        batch.backfills.push(row);
        assert!(matches!(desk.store.commit(&batch), Err(CommitError::Conflict { .. })));
    }
    // What will not be computed is nobody's.
    let mut batch = desk.batch();
    batch.filled.push(note(&known, 1, backfill_notes::NOT_STARTED));
    desk.store.commit(&batch).unwrap();
    begin(&mut desk, "three", &[200, 300]);
    assert_eq!(desk.store.backfills().unwrap().len(), 2);
}

pub fn a_run_of_a_cell_that_is_open_elsewhere_is_refused(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut other = desk.create(100);
    let known = begin(&mut desk, "one", &[100, 200]);
    let (batch, run) = filling(&mut desk, &known, 0);
    match desk.store.commit(&batch) {
        Err(CommitError::CellOpen { task, nominal_at }) => {
            assert_eq!((task, nominal_at), (run.task_runs[0].task_id, at(100)));
        }
        other => panic!("{other:?}"),
    }
    let (batch, _) = filling(&mut desk, &known, 1);
    desk.store.commit(&batch).unwrap();
    // One that ends in the same batch is in nobody's way.
    let (mut batch, _) = filling(&mut desk, &known, 0);
    for index in 0..other.task_runs.len() {
        desk.cancel(&mut batch, &mut other, index);
    }
    desk.store.commit(&batch).unwrap();
}

pub fn what_is_asked_for_waits_for_the_backfill_that_computes_it(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100, 200]);
    let (batch, made) = filling(&mut desk, &known, 0);
    desk.store.commit(&batch).unwrap();
    let task = made.task_runs[1].task_id;
    let asked = |run: i64, nominal: i64| Unfilled {
        run: RunId(run),
        dag_id: made.row.dag_id,
        nominal_at: at(nominal),
        tasks: vec![task],
    };
    let mine = made.row.id.0;
    let mut refused = desk.batch();
    refused.unfilled.push(asked(mine + 1, 100));
    match desk.store.commit(&refused) {
        Err(CommitError::CellFilled { task: found, nominal_at, run, backfill }) => {
            assert_eq!((found, nominal_at), (task, at(100)));
            assert_eq!((run, backfill), (made.row.id, known.id));
        }
        other => panic!("{other:?}"),
    }
    // The run itself, another time, another task.
    let mut batch = desk.batch();
    let other = Unfilled { tasks: vec![TaskId(99)], ..asked(mine + 1, 100) };
    batch.unfilled = vec![asked(mine, 100), asked(mine + 1, 200), other];
    desk.store.commit(&batch).unwrap();
    // It ends in the same batch.
    let mut made = made;
    for index in 0..made.task_runs.len() {
        desk.cancel(&mut refused, &mut made, index);
    }
    desk.store.commit(&refused).unwrap();
}

pub fn a_backfill_moves_from_where_it_stands(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100]);
    let mut to = BackfillMoved {
        id: known.id,
        from: BackfillState::Running,
        to: BackfillState::Canceled,
        finished_at: Some(at(9)),
        cancel_requested: true,
    };
    let mut batch = desk.batch();
    batch.filled.push(note(&known, 0, backfill_notes::NOT_STARTED));
    batch.fill_moves.push(to);
    desk.store.commit(&batch).unwrap();
    let stored = desk.store.backfill(known.id).unwrap().unwrap().row;
    assert_eq!((stored.state, stored.finished_at), (to.to, to.finished_at));
    assert!(stored.cancel_requested);
    assert_eq!(desk.store.open_backfills(desk.lease.scope_id).unwrap(), []);
    to.to = BackfillState::Success;
    let mut batch = desk.batch();
    batch.fill_moves.push(to);
    assert!(matches!(desk.store.commit(&batch), Err(CommitError::Conflict { .. })));
    assert_eq!(desk.store.verify().unwrap(), []);
}

pub fn a_backfill_is_taken_over_with_its_runs(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let known = begin(&mut desk, "one", &[100, 200]);
    let (batch, run) = filling(&mut desk, &known, 0);
    desk.store.commit(&batch).unwrap();
    let (late, _) = filling(&mut desk, &known, 1);
    let next = desk.store.join(&node(2)).unwrap();
    let from = desk.lease.scope_id;
    desk.store.take_over_backfill(known.id, from, next).unwrap();
    let stored = desk.store.stored_run(run.row.id).unwrap().unwrap();
    assert_eq!(stored.row.scope_id, next.scope_id);
    assert_eq!(desk.store.backfill(known.id).unwrap().unwrap().row.scope_id, next.scope_id);
    assert!(matches!(desk.store.commit(&late), Err(CommitError::Fenced)));
    let again = desk.store.take_over_backfill(known.id, from, next);
    assert!(matches!(again, Err(CommitError::Conflict { .. })));
}
